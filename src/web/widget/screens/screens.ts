/**
 * `screens.js`: the screens of a visit, one for each state, with its transcript, its announcements and its style. Untrusted content is
 * only set as text.
 */

import type { VoiceAgentState } from "../client/state.ts"
import { offersIn } from "../gate/offers.ts"
import { type Attention, createAttention } from "../waiting/attention.ts"
import { clock, countdown, ended, notice as noticeOf } from "../words/first-words.ts"
import { withStrings } from "../words/more-strings.ts"
import type { Say } from "../words/strings.ts"
import { visitStrings } from "../words/visit-strings.ts"
import * as words from "../words/visit-words.ts"
import { type CallSettings, callScreen } from "./call-screen.ts"
import { type CheckScreen, checkScreen } from "./check-screen.ts"
import { h, setText } from "./dom.ts"
import {
  alertIcon,
  blockedIcon,
  clockIcon,
  copyIcon,
  devicesIcon,
  hangUpIcon,
  moonIcon,
  pauseIcon,
  peopleIcon,
  personIcon,
  phoneIcon,
} from "./icons.ts"
import { offerRows } from "./offer-rows.ts"
import { lookOf, nothing, type Parts, partsOf, type Screen, type Tools } from "./parts.ts"
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
  /** Alerts the caller; absent in a part that is older than this widget. */
  readonly attention?: Attention | undefined
  /** What is offered instead of a call, as the gate says it, as rows; absent in a part that is older than this widget. */
  readonly offers?: (given: unknown) => HTMLElement
  /** Lets the visitor try the microphone. */
  readonly check: () => CheckScreen
}

export const createScreens = (given: Tools): Screens => {
  const tools = withStrings(given, visitStrings)
  /** What was said in the call, kept after it until the next one. */
  const newTranscript = (): Transcript => createTranscript(tools.say, () => lookOf(tools).name)
  let transcript = newTranscript()
  const settings: CallSettings = { captions: tools.captions() }
  const attention = tools.alerts && createAttention(tools.say, tools.alerts)
  return {
    css,
    attention,
    reset: () => {
      transcript = newTranscript()
    },
    create: (name) => {
      transcript.translate()
      return createScreen(name, tools, transcript, settings, attention)
    },
    announcement: (state, before) => words.announcement(state, before, tools.say, tools.language(), tools.pushToTalk()),
    turn: (turn) => transcript.add(turn),
    offers: (given) => {
      const { element, show } = offerRows(tools)
      show(offersIn(given))
      return element
    },
    check: () => checkScreen(tools),
  }
}

/** What the end of a visit is about, and the text of the button below it. */
const endOf = (reason: string): readonly [picture: () => SVGElement, next: string] => {
  if (/^(lost|unreached|no-sound)$/.test(reason)) return [alertIcon, "try-again"]
  if (/^(missed|abandoned|unknown|removed)$/.test(reason)) return [clockIcon, "ended.join"]
  if (reason === "closed") return [moonIcon, "ended.join"]
  return [reason === "elsewhere" ? devicesIcon : hangUpIcon, "ended.again"]
}

/** The pictures of refusals, by code. */
const REFUSALS: Readonly<Record<string, () => SVGElement>> = {
  blocked: blockedIcon,
  rate_limited: clockIcon,
  budget_exhausted: clockIcon,
  queue_full: peopleIcon,
  closed: moonIcon,
  draining: pauseIcon,
  identity_required: personIcon,
  identity_refused: personIcon,
}

const createScreen = (
  name: VoiceAgentState["name"],
  tools: Tools,
  transcript: Transcript,
  settings: CallSettings,
  attention: Attention | undefined,
): Screen | undefined => {
  const { say } = tools
  const parts = partsOf(tools)
  const { actions, button, orb, picture, text, title } = parts
  const messages = transcript.element
  messages.ariaLabel = say("in-call.messages")

  switch (name) {
    case "connecting": {
      const heading = title()
      return {
        nodes: [orb("small calm"), heading, actions(button("cancel", "leave", "quiet"))],
        update: (state) => {
          if (state.name === name) setText(heading, say(`connecting.${state.to}`))
        },
        tick: nothing,
      }
    }
    case "waiting":
      return waitingScreen(tools, parts, attention)
    case "your-turn": {
      const start = button("your-turn.start", "start", "primary", phoneIcon())
      const bar = h("div", { class: "track" })
      const [body, notice] = [h("p", { class: "text", role: "timer" }), text("", "notice warning")]
      return {
        nodes: [
          orb("turn"),
          title(say("your-turn.title")),
          body,
          bar,
          notice,
          actions(start, button("waiting.leave", "leave", "quiet")),
        ],
        update: (state) => {
          if (state.name !== name) return
          setText(notice, noticeOf(state.notice, say))
          start.lastChild?.replaceWith(say(state.starting ? "your-turn.starting" : "your-turn.start"))
          start.ariaDisabled = String(state.starting)
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const left = state.startBefore - now
          const known = !Number.isNaN(left)
          setText(body, known ? say("your-turn.text", { time: countdown(left) }) : "")
          bar.hidden = !known
          bar.style.setProperty("--level", `${left / (state.startBefore - state.since)}`)
        },
      }
    }
    case "in-call":
      return callScreen(tools, transcript, settings)
    case "ended": {
      const [heading, body, lasted] = [title(), text(), text("", "small")]
      const copy = copying(transcript, parts, say)
      const kept = h("div", { class: "kept" }, messages, copy)
      const sign = picture(alertIcon())
      const again = button("ended.again", "begin", "primary")
      return {
        nodes: [sign, heading, body, lasted, kept, actions(again)],
        update: (state) => {
          if (state.name !== name) return
          const [icon, next] = endOf(state.reason)
          sign.replaceChildren(icon())
          sign.classList.toggle("bad", icon === alertIcon)
          setText(again, say(next))
          const [what, why] = ended(state, say)
          setText(heading, what)
          setText(body, why)
          setText(lasted, state.lasted === undefined ? "" : say("ended.lasted", { time: clock(state.lasted) }))
          // also those of a call without captions
          kept.hidden = messages.hidden = transcript.isEmpty()
          copy.hidden = !navigator.clipboard
        },
        tick: nothing,
      }
    }
    case "refused": {
      // not all pages that show it begin anew in the same second
      const later = Math.random() * REOPEN_WITHIN
      const [heading, body, issues] = [title(), text(), h("ul", { class: "issues" })]
      const again = button("try-again", "begin", "primary")
      const offers = offerRows(tools)
      const sign = picture(alertIcon())
      return {
        nodes: [sign, heading, body, issues, actions(again), offers.element],
        update: (state) => {
          if (state.name !== name) return
          const icon = REFUSALS[state.code] ?? alertIcon
          sign.replaceChildren(icon())
          sign.classList.toggle("bad", icon === alertIcon)
          offers.show(state.offers)
          issues.replaceChildren(...state.issues.map((issue) => h("li", {}, words.wrongField(issue, say))))
          issues.hidden = state.issues.length === 0
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const [what, why, waits] = words.refused(state, say, tools.language(), now)
          setText(heading, what)
          // The list of issues replaces the text.
          setText(body, issues.hidden ? why : "")
          const left = (state.retryAt ?? now) - now
          setText(again, left > 0 ? say("refused.retry-in", { time: countdown(left) }) : say("try-again"))
          again.ariaDisabled = String(left > 0)
          // no button that could not work for long
          again.hidden = waits
          // at the opening, the first screen follows by itself
          if (state.code === "closed" && left < -later) tools.act("leave")
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
    copyIcon(),
  )
  return h("div", {}, copy, done)
}
