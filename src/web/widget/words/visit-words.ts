/** Texts of a visit: of its place, its call and its end, and their announcements for screen readers. */

import type { Place, VoiceAgentState } from "../client/state.ts"
import { countdown, ended, notice, type State } from "./first-words.ts"
import type { Say } from "./strings.ts"
import { expectedWait, timeOfDay } from "./times.ts"

export const ahead = ({ position }: Place, say: Say): string =>
  position <= 1 ? say("waiting.next") : say("waiting.ahead", { n: position - 1 })

/** Why nobody is called at the moment; empty if callers are called. What ends last is said. */
const hindrance = (
  { disrupted, paused, pausedUntil = 0, resumesAt }: Place,
  say: Say,
  language: string,
  now: number,
): string => {
  if (!paused) return disrupted ? say("waiting.disrupted") : ""
  return pausedUntil > now
    ? say(resumesAt === pausedUntil ? "waiting.budget" : "waiting.paused-until", {
        time: timeOfDay(pausedUntil, language, now),
      })
    : say("waiting.paused")
}

/** The estimated wait at a time (ms), counting down from when it was reported. */
export const estimate = (place: Place, say: Say, language: string, now: number): string => {
  const hindered = hindrance(place, say, language, now)
  if (hindered !== "") return hindered
  if (place.estimatedWait === undefined) return ""
  const left = place.estimatedWait - (now - place.asOf) / 1_000
  if (left <= 0) return say("waiting.overdue")
  return expectedWait(left, say, language)
}

const MINUTE = 60_000
/** From how far ahead the time at which a visitor may call is said as a time of day, in milliseconds; a nearer one is counted down to. */
const FAR = 5 * MINUTE

/** Why a call was refused; the button is said to work from a time, or absent, where `waits` is true. */
export const refused = (
  { code, message, retryAt = 0 }: State<"refused">,
  say: Say,
  language: string,
  now: number,
): readonly [title: string, text: string, waits: boolean] => {
  const title = say(`refused.${code}.title`)
  const closed = code === "closed"
  const waits = closed || retryAt - now > FAR
  // a title of its own says it all, and so does a countdown
  const next = waits && retryAt ? "idle.shut" : closed || (title === "" && retryAt < now) ? "refused.other" : ""
  const time = timeOfDay(Math.round(retryAt / MINUTE) * MINUTE, language, now)
  return [title || say("refused.other.title"), say([`refused.${code}`, next], { message, time }), waits]
}

/** A wrong field of a request, in the visitor's language; the gate says in English what it expects. */
export const wrongField = (issue: string, say: Say): string => `${issue.split(":", 1)[0]}: ${say("refused.field")}`

/** The text that says why nobody is heard in a call; empty if all is well. What hinders both sides comes first. */
export const troubleOf = ({ audio, down, link, microphone }: State<"in-call">): string => {
  if (!audio) return "in-call.no-audio"
  if (!link && down) return down === "agent" ? "in-call.agent-lost" : "in-call.link-lost"
  return microphone ? "" : "in-call.no-microphone"
}

/** That the call ends, at its time limit or unless somebody speaks, and when; empty if it does not. */
export const endWarning = ({ warning }: State<"in-call">, say: Say, now: number): string =>
  warning === undefined
    ? ""
    : say(warning.reason === "length" ? "in-call.ends" : "in-call.silent", { time: countdown(warning.endsAt - now) })

/** What has changed in a call (muting too, unless it is `quiet`); undefined if it is nothing to announce. */
const changeInCall = (
  state: State<"in-call">,
  before: State<"in-call">,
  say: Say,
  quiet: boolean,
): string | undefined => {
  const trouble = troubleOf(state)
  if (trouble !== troubleOf(before)) {
    if (trouble !== "") return say(trouble)
    if (!before.link) return say("announce.link-back")
    if (!before.microphone) return say("announce.unmuted")
  }
  // the time is said once for each reason
  if (state.warning !== undefined && state.warning.reason !== before.warning?.reason)
    return endWarning(state, say, Date.now())
  if (state.muted !== before.muted && !quiet) return say(state.muted ? "in-call.muted" : "announce.unmuted")
  return undefined
}

/** Why the wait does not go on as it should; empty if it does. */
const troubleWhileWaiting = (state: State<"waiting">, say: Say, language: string): string =>
  [
    hindrance(state.place, say, language, Date.now()),
    state.link ? "" : say("waiting.link-lost"),
    notice(state.notice, say),
  ]
    .filter(Boolean)
    .join(" ")

/**
 * The announcement of a visit's state that followed `before`; undefined if there is nothing new. It contains no running times, so that it
 * is announced only once.
 *
 * @param language in which times are said
 * @param quiet whether muting is not announced, because the caller does it all the time
 */
export const announcement = (
  state: VoiceAgentState,
  before: VoiceAgentState,
  say: Say,
  language: string,
  quiet: boolean,
): string | undefined => {
  switch (state.name) {
    case "connecting":
      return say(`connecting.${state.to}`)
    case "waiting": {
      const n = state.place.position
      const trouble = troubleWhileWaiting(state, say, language)
      const isSame = before.name === "waiting" && before.place.position === n
      if (isSame && troubleWhileWaiting(before, say, language) === trouble) return undefined
      const place = n > 1 ? `${say("floating.waiting", { n })}.` : say("waiting.next")
      return isSame && trouble !== "" ? trouble : `${place} ${trouble}`.trim()
    }
    case "your-turn":
      return state.starting
        ? say("your-turn.starting")
        : `${say("your-turn.title")}. ${say("your-turn.start")}. ${notice(state.notice, say)}`.trim()
    case "in-call":
      return before.name === "in-call" ? changeInCall(state, before, say, quiet) : say("in-call.title")
    case "ended":
      return ended(state, say).filter(Boolean).join(". ")
    case "refused":
      return refused(state, say, language, Date.now()).slice(0, 2).filter(Boolean).join(". ")
  }
  return undefined
}
