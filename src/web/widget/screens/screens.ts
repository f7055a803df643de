/**
 * `screens.js`: the screens of a visit, one for each state, with its transcript, its announcements and its style. Untrusted content is
 * only set as text.
 */

import type { VoiceAgentState } from "../client/state.ts"
import { hours } from "../words/durations.ts"
import { clock, countdown, ended, notice as noticeOf } from "../words/first-words.ts"
import type { Say } from "../words/strings.ts"
import * as words from "../words/visit-words.ts"
import { type CallSettings, callScreen } from "./call-screen.ts"
import { type CheckScreen, checkScreen } from "./check-screen.ts"
import { h, setText } from "./dom.ts"
import { copyIcon } from "./icons.ts"
import { offerRows } from "./offer-rows.ts"
import { nothing, type Parts, partsOf, type Screen, type Tools } from "./parts.ts"
import css from "./screens.css?inline"
import { createTranscript, type Transcript, type Turn } from "./transcript.ts"
import { waitingScreen } from "./waiting-screen.ts"

/** A campaign that was closed is shown as open up to so much later, in milliseconds. */
const REOPEN_WITHIN = 20_000

export interface Screens {
  /** the style of the screens, in addition to the widget's */
  readonly css: string
  /** A new call begins: forgets the messages of the last one. */
  readonly reset: () => void
  /** Undefined for a state whose screen is there from the beginning. */
  readonly create: (name: VoiceAgentState["name"]) => Screen | undefined
  /** The announcement of a state that followed `before`; undefined if there is nothing to announce. */
  readonly announcement: (state: VoiceAgentState, before: VoiceAgentState) => string | undefined
  readonly turn: (turn: Turn) => void
  /** Lets the visitor try the microphone. */
  readonly check: () => CheckScreen
}

export const createScreens = (tools: Tools): Screens => {
  /** What was said in the call, kept after it until the next one. */
  let transcript = createTranscript(tools.say)
  const settings: CallSettings = { captions: tools.captions() }
  return {
    css,
    reset: () => {
      transcript = createTranscript(tools.say)
    },
    create: (name) => {
      transcript.translate()
      return createScreen(name, tools, transcript, settings)
    },
    announcement: (state, before) => words.announcement(state, before, tools.say, tools.language(), tools.pushToTalk()),
    turn: (turn) => transcript.add(turn),
    check: () => checkScreen(tools),
  }
}

const createScreen = (
  name: VoiceAgentState["name"],
  tools: Tools,
  transcript: Transcript,
  settings: CallSettings,
): Screen | undefined => {
  const { say } = tools
  const parts = partsOf(tools)
  const { actions, button, text, title } = parts
  const messages = transcript.element
  messages.ariaLabel = say("in-call.messages")

  switch (name) {
    case "connecting": {
      const heading = title()
      return {
        nodes: [heading, h("div", { class: "track indeterminate" }), actions(button("cancel", "leave"))],
        update: (state) => {
          if (state.name === name) setText(heading, say(`connecting.${state.to}`))
        },
        tick: nothing,
      }
    }
    case "waiting":
      return waitingScreen(tools, parts)
    case "your-turn": {
      const start = button("your-turn.start", "start", "primary")
      const bar = h("div", { class: "track" })
      const [body, notice] = [h("p", { class: "text", role: "timer" }), text("", "notice")]
      return {
        nodes: [
          h("div", { class: "turn" }, title(say("your-turn.title")), body, bar),
          notice,
          actions(start, button("your-turn.leave", "leave", "quiet")),
        ],
        update: (state) => {
          if (state.name !== name) return
          setText(notice, noticeOf(state.notice, say))
          setText(start, say(state.starting ? "your-turn.starting" : "your-turn.start"))
          start.ariaDisabled = String(state.starting)
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const left = state.startBefore - now
          const known = !Number.isNaN(left)
          setText(body, known ? say("your-turn.text", { time: countdown(left) }) : say("your-turn.no-limit"))
          bar.hidden = !known
          const share = Math.max(0, Math.min(1, left / (state.startBefore - state.since)))
          bar.style.setProperty("--level", String(share))
        },
      }
    }
    case "in-call":
      return callScreen(tools, transcript, settings)
    case "ended": {
      const [heading, body, lasted] = [title(), text(), text("", "small")]
      const copy = copying(transcript, parts, say)
      const kept = h("div", { class: "kept" }, messages, copy)
      return {
        nodes: [heading, body, lasted, actions(button("ended.again", "begin", "primary")), kept],
        update: (state) => {
          if (state.name !== name) return
          const [what, why] = ended(state, say)
          setText(heading, what)
          setText(body, why)
          setText(lasted, state.lasted === undefined ? "" : say("ended.lasted", { time: clock(state.lasted) }))
          // also those of a call without captions
          messages.hidden = transcript.isEmpty()
          kept.hidden = messages.hidden
          copy.hidden = !navigator.clipboard
        },
        tick: nothing,
      }
    }
    case "refused": {
      // not all pages that show it begin anew in the same second
      const later = Math.random() * REOPEN_WITHIN
      const [heading, body, when, issues] = [title(), text(), text("", "small"), h("ul", { class: "issues" })]
      const again = button("try-again", "begin", "primary")
      const offers = offerRows(tools)
      return {
        nodes: [heading, body, issues, when, actions(again), offers.element],
        update: (state) => {
          if (state.name !== name) return
          offers.show(state.offers)
          const [what, why] = words.refused(state, say, tools.language(), Date.now())
          setText(heading, what)
          // The list of issues replaces the text.
          setText(body, state.issues.length > 0 ? "" : why)
          issues.replaceChildren(...state.issues.map((issue) => h("li", {}, words.wrongField(issue, say))))
          issues.hidden = state.issues.length === 0
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const left = (state.retryAt ?? 0) - now
          if (state.code === "closed") {
            // its title says when it opens
            setText(when, "")
            again.hidden = true
            if (state.retryAt !== undefined && left < -later) tools.act("leave")
            return
          }
          const time = left > 3_600_000 ? hours(left / 3_600_000, tools.language()) : countdown(left)
          const retry = left > 0 ? say("refused.retry-in", { time }) : say("refused.retry-now")
          setText(when, state.retryAt === undefined ? "" : retry)
          again.ariaDisabled = String(left > 0)
        },
      }
    }
  }
  return undefined
}

/** A button that copies all that was said. */
const copying = (transcript: Transcript, { button }: Parts, say: Say): HTMLElement => {
  const done = h("span", { class: "small", role: "status" })
  const copy = button(
    "ended.copy",
    () => {
      const report = (key: string) => (): void => setText(done, say(key))
      navigator.clipboard.writeText(transcript.asText()).then(report("ended.copied"), report("ended.not-copied"))
    },
    "plain",
  )
  copy.prepend(copyIcon())
  return h("div", {}, copy, done)
}
