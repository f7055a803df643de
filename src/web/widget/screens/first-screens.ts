/** The screens that are shown before the parts of a visit are loaded, and when they cannot be. */

import type { VoiceAgentState } from "../client/state.ts"
import * as words from "../words/first-words.ts"
import { h, isShown, setText } from "./dom.ts"
import { chatIcon, microphoneIcon, offlineIcon, phoneIcon } from "./icons.ts"
import { lookOf, nothing, partsOf, type Screen, type Tools } from "./parts.ts"

/** How often the gate is asked what a visitor would find, while the first screen is shown, in milliseconds. */
const ASK_EVERY = 60_000

/** Undefined for a state that only a loaded visit has. */
export const createFirstScreen = (name: VoiceAgentState["name"], tools: Tools): Screen | undefined => {
  const { say } = tools
  const { actions, button, orb, picture, text, title } = partsOf(tools)
  switch (name) {
    case "idle": {
      const notice = text("", "notice")
      const about = text(say("idle.text"))
      let askAt = 0
      const { heading, name: agent, writes } = lookOf(tools)
      return {
        nodes: [
          orb("calm"),
          ...(heading !== "" && agent !== "" ? [text(agent, "small")] : []),
          title(heading || agent || say("idle.title")),
          about,
          notice,
          h("slot"),
          actions(
            button("idle.begin", "begin", "primary", phoneIcon()),
            ...(writes ? [button("idle.write", "write", "", chatIcon())] : []),
          ),
          text(say("idle.hint"), "small"),
          ...(tools.checks() ? [button("check.begin", () => tools.check(true), "plain")] : []),
        ],
        update: (state) => {
          if (state.name === name) setText(notice, words.notice(state.notice, say))
        },
        tick: (_state, now) => {
          if (now < askAt || !isShown(about)) return
          askAt = now + ASK_EVERY
          void tools
            .availability()
            .then((found) => setText(about, words.outlook(found, say, tools.language(), now) || say("idle.text")))
        },
      }
    }
    case "checking-microphone":
      return {
        nodes: [
          picture(microphoneIcon()),
          title(say("microphone.title")),
          text(say("microphone.text")),
          actions(button("cancel", "leave", "quiet")),
        ],
        update: nothing,
        tick: nothing,
      }
    case "no-microphone": {
      const [heading, body] = [title(), text()]
      return {
        nodes: [
          picture(microphoneIcon(), "off"),
          heading,
          body,
          actions(button("try-again", "begin", "primary"), button("cancel", "leave", "quiet")),
        ],
        update: (state) => {
          if (state.name !== name) return
          const [what, why] = words.noMicrophone(state, say)
          setText(heading, what)
          setText(body, why)
        },
        tick: nothing,
      }
    }
    case "offline": {
      const body = text()
      return {
        nodes: [
          picture(offlineIcon()),
          title(say("offline.title")),
          body,
          actions(button("offline.retry", "retry", "primary"), button("cancel", "leave", "quiet")),
        ],
        update: nothing,
        tick: (state, now) => {
          if (state.name === name) setText(body, say("offline.text", { time: words.countdown(state.retryAt - now) }))
        },
      }
    }
  }
  return undefined
}

/** The announcement of such a state for screen readers. */
export const announceFirst = (state: VoiceAgentState, { say }: Tools): string | undefined => {
  switch (state.name) {
    case "idle":
      return words.notice(state.notice, say)
    case "checking-microphone":
      return `${say("microphone.title")}. ${say("microphone.text")}`
    case "no-microphone":
      return words.noMicrophone(state, say).join(". ")
    case "offline":
      return say("announce.offline")
  }
  return undefined
}
