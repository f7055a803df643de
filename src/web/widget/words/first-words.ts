/** Texts of the widget that depend on the state: of the screens that are there from the beginning, and of its button. */

import type { Notice, VoiceAgentState } from "../client/state.ts"
import type { Fields } from "../gate/json.ts"
import type { Say } from "./strings.ts"
import { expectedWait, timeOfDay } from "./times.ts"

export type State<Name extends VoiceAgentState["name"]> = Extract<VoiceAgentState, { readonly name: Name }>

/** A running clock: `0:07`, `1:02:03`. No call is longer than a day. */
export const clock = (millis: number): string => {
  // a page has no Effect
  // @effect-diagnostics-next-line globalDate:off
  const time = new Date(Math.max(0, millis || 0)).toISOString().slice(11, 19)
  return time.replace(/^(00:)?0?/, "")
}

/** Like `clock`, but rounded up, so that 0:00 means now. */
export const countdown = (millis: number): string => clock(Math.ceil(millis / 1_000) * 1_000)

export const noMicrophone = ({ problem }: State<"no-microphone">, say: Say): readonly [title: string, text: string] => [
  say([`no-microphone.${problem}.title`, "no-microphone.no-sound.title"]),
  say([`no-microphone.${problem}`, "no-microphone.no-sound"]),
]

/** How a visit ended; the launcher shows the title too. */
export const ended = ({ reason: given, message }: State<"ended">, say: Say): readonly [title: string, text: string] => {
  // a call whose slot was taken back has reached a limit too, of time or of a budget, and has the same text
  const reason = /^(too_long|budget)$/.test(given) ? "reclaimed" : given
  return [say([`ended.${reason}.title`, "ended.other.title"], { message }), say(`ended.${reason}`, { message })]
}

export const notice = (given: Notice | undefined, say: Say): string =>
  given === undefined
    ? ""
    : say([`notice.${given.code}`, `no-microphone.${given.code}`, "notice.other"], { message: given.message })

/**
 * What a visitor who came now would find, as the gate says. `shut`: why nobody is let in; `wait`: what is known of the wait, or from when
 * visitors are let in. Both are empty if he would be served at once, or nothing is known.
 */
export const outlook = (
  { estimatedWaitSeconds: seconds, opensAt, pausedUntil, resetsAt, state }: Fields,
  say: Say,
  language: string,
  now: number,
): { readonly shut: string; readonly wait: string } => {
  const until = Date.parse(String(opensAt ?? pausedUntil ?? resetsAt))
  const time = until ? timeOfDay(until, language, now) : ""
  const shut = say(`refused.${state === "full" ? "queue_full" : state}.title`)
  const key = shut ? (time ? "idle.shut" : "refused.other") : state === "paused" ? `idle.paused${time && "-until"}` : ""
  return { shut, wait: Number(seconds) > 0 ? expectedWait(Number(seconds), say, language) : say(key, { time }) }
}
