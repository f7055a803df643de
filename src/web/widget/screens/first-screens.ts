/** The screens that are shown before the parts of a visit are loaded, and when they cannot be. */

import type { VoiceAgentState } from "../client/state.ts"
import type { Fields } from "../gate/json.ts"
import * as words from "../words/first-words.ts"
import { h, isShown, setText } from "./dom.ts"
import {
  chatIcon,
  clockIcon,
  microphoneIcon,
  moonIcon,
  offlineIcon,
  pauseIcon,
  peopleIcon,
  phoneIcon,
} from "./icons.ts"
import { lookOf, nothing, partsOf, type Screen, type Tools } from "./parts.ts"

/** How often the gate is asked what a visitor would find, while the first screen is shown, in milliseconds. */
const ASK_EVERY = 30_000

/** The pictures of why nobody is let in, by what the gate says. */
const SHUT: Readonly<Record<string, () => SVGElement>> = { closed: moonIcon, full: peopleIcon, draining: pauseIcon }

/**
 * Undefined for a state that only a loaded visit has.
 *
 * @param rowsOf loads what shows what is offered instead of a call, and makes a row of each
 */
export const createFirstScreen = (
  name: VoiceAgentState["name"],
  tools: Tools,
  rowsOf: (offers: unknown) => Promise<HTMLElement | undefined>,
): Screen | undefined => {
  const { say } = tools
  const { actions, button, orb, picture, text, title } = partsOf(tools)
  switch (name) {
    case "idle": {
      const notice = text("", "notice")
      const about = text()
      let askAt = 0
      const { heading, name: agent, writes } = lookOf(tools)
      const usual = heading || agent || say("idle.title")
      const what = title()
      const sphere = orb("calm")
      const sign = picture(clockIcon())
      let rows: HTMLElement | undefined
      const start = button("idle.begin", "begin", "primary", phoneIcon())
      /** what there is while visitors are let in */
      const open = [
        sphere,
        h("slot"),
        actions(start, ...(writes ? [button("idle.write", "write", "", chatIcon())] : [])),
        ...(tools.checks() ? [button("check.begin", () => tools.check(true), "plain")] : []),
      ]
      const showRows = (found: HTMLElement | undefined): void => {
        about.after(found ?? "")
        rows = found
      }
      const show = (found: Fields): void => {
        const { shut, wait } = words.outlook(found, say, tools.language(), Date.now())
        if (shut !== "" && start.matches(":focus")) what.focus()
        setText(what, shut || usual)
        setText(about, wait || say("idle.text"))
        start.lastChild?.replaceWith(say(wait ? "idle.join" : "idle.begin"))
        for (const each of open) each.hidden = shut !== ""
        sign.hidden = shut === ""
        sign.replaceChildren((SHUT[String(found.state)] ?? clockIcon)())
        if (shut === "") {
          rows?.remove()
          rows = undefined
          // those that are shown stay: one may have the focus
        } else if (found.offers && rows === undefined) void rowsOf(found.offers).then(showRows)
      }
      show({})
      return {
        nodes: [
          sphere,
          sign,
          ...(heading !== "" && agent !== "" ? [text(agent, "small")] : []),
          what,
          about,
          notice,
          ...open.slice(1),
        ],
        update: (state) => {
          if (state.name === name) setText(notice, words.notice(state.notice, say))
        },
        tick: (_state, now) => {
          if (now < askAt || !isShown(about)) return
          askAt = now + ASK_EVERY
          void tools.availability().then(show)
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
          picture(microphoneIcon(), "off bad"),
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
          actions(button("try-again", "retry", "primary"), button("cancel", "leave", "quiet")),
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
      return say("offline.title")
  }
  return undefined
}
