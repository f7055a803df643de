/** The screens that are shown before the parts of a visit are loaded, and when they cannot be. */

import type { VoiceAgentState } from "../client/state.ts"
import * as words from "../words/first-words.ts"
import { h, setText } from "./dom.ts"
import { nothing, partsOf, type Screen, type Tools } from "./parts.ts"

/** Undefined for a state that only a loaded visit has. */
export const createFirstScreen = (name: VoiceAgentState["name"], tools: Tools): Screen | undefined => {
  const { say } = tools
  const { actions, button, text, title } = partsOf(tools)
  switch (name) {
    case "idle": {
      const notice = text("", "notice")
      return {
        nodes: [
          h(
            "div",
            { class: "hello" },
            h("span", { class: "mark", "aria-hidden": "true" }),
            h("div", {}, title(say("idle.title")), text(say("idle.text"))),
          ),
          notice,
          h("slot"),
          actions(button("idle.begin", "begin", "primary")),
          text(say("idle.hint"), "small"),
          ...(tools.checks() ? [button("check.begin", () => tools.check(true), "plain")] : []),
        ],
        update: (state) => {
          if (state.name === name) setText(notice, words.notice(state.notice, say))
        },
        tick: nothing,
      }
    }
    case "checking-microphone":
      return {
        nodes: [
          title(say("microphone.title")),
          text(say("microphone.text")),
          h("div", { class: "track indeterminate" }),
          actions(button("cancel", "leave")),
        ],
        update: nothing,
        tick: nothing,
      }
    case "no-microphone": {
      const [heading, body] = [title(), text()]
      return {
        nodes: [heading, body, actions(button("try-again", "begin", "primary"), button("cancel", "leave"))],
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
          title(say("offline.title")),
          body,
          actions(button("offline.retry", "retry", "primary"), button("cancel", "leave")),
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
