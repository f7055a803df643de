/** The console's words: states, what an action means, what came of it, times. */
import type { Action, AuditLine, Done, HeldSlot, Queue } from "../../operator/shapes.ts"

const numbers = new Intl.NumberFormat("en")
export const count = (n: number): string => numbers.format(n)

const padded = (n: number): string => String(n).padStart(2, "0")

/** A length of time: `0:07`, `12:30`, `3 h 05 min`, `4 d 2 h`. */
export const span = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${padded(minutes % 60)} min`
  return `${minutes}:${padded(seconds % 60)}`
}

const times = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })
export const moment = (at: number): string => times.format(at)

/** The state of a campaign, and what it means for callers. */
export const mood = (
  { disrupted, draining, paused, probeUntil, backoffUntil }: Queue,
  now: number,
): { readonly held: boolean; readonly title: string; readonly meaning: string } => {
  const also = disrupted ? " The platform cannot be reached." : ""
  if (paused && draining) {
    return {
      held: true,
      title: "Paused and draining",
      meaning: `Nobody is called, and newcomers are sent away.${also}`,
    }
  }
  if (paused) return { held: true, title: "Paused", meaning: `Newcomers queue, and nobody is called.${also}` }
  if (draining) {
    return { held: true, title: "Draining", meaning: `Newcomers are sent away; those who wait are served.${also}` }
  }
  if (disrupted) {
    const seconds = Math.ceil((Math.max(backoffUntil, probeUntil) - now) / 1000)
    const next = seconds > 0 ? `, the next in ${seconds} s` : ""
    return {
      held: true,
      title: "Platform unreachable",
      meaning: `Everybody keeps their place. One caller at a time is called to find out${next}.`,
    }
  }
  if (backoffUntil > now) {
    const seconds = Math.ceil((backoffUntil - now) / 1000)
    return { held: false, title: "Resting", meaning: `The platform was full. The next call is tried in ${seconds} s.` }
  }
  return { held: false, title: "Taking calls", meaning: "Callers are called as slots come free." }
}

export interface Question {
  readonly title: string
  readonly text: string
  readonly confirm: string
}

/** What is asked before an action, with what it will and will not do; `state` is that of a slot. */
export const question = (action: Action, ticket = "", state = ""): Question => {
  switch (action.type) {
    case "pause":
      return {
        title: "Pause calls?",
        text: "Nobody is called until you resume. Newcomers join the queue. Running calls go on, and who was called already may still start.",
        confirm: "Pause",
      }
    case "resume":
      return {
        title: "Resume calls?",
        text: "Those who wait are called to the free slots at once, in order.",
        confirm: "Resume",
      }
    case "drain":
      return {
        title: "Drain the queue?",
        text: "Newcomers are told to come back later. Those who wait are still served, and running calls go on.",
        confirm: "Drain",
      }
    case "reopen":
      return {
        title: "Take callers again?",
        text: "Newcomers get a slot or a place in the queue as usual.",
        confirm: "Take callers",
      }
    case "call":
      return {
        title: "Call the next one now?",
        text: "The first in line who is present is called to a free slot, even while calls are paused or the platform rests. Without a free slot nothing happens.",
        confirm: "Call",
      }
    case "remove":
      return {
        title: `Remove ${ticket} from the queue?`,
        text: "The caller is told. The place is lost, and what the request took of the caller's quota stays taken.",
        confirm: "Remove",
      }
    case "end":
      return {
        title: `End the lease of ${ticket}?`,
        text:
          state === "in_doubt"
            ? "The slot is free for the next caller at once. A session that the platform has started after all runs on there until it ends by itself. The caller keeps the place."
            : "The slot is free for the next caller at once, and the caller is told. A session that the platform has started may run on there until it ends by itself.",
        confirm: "End lease",
      }
  }
}

const doneWords: Readonly<Record<string, string>> = {
  pause: "Calls are paused.",
  resume: "Calls go on.",
  drain: "The queue drains.",
  reopen: "Callers are taken again.",
}

/** What came of an action. */
export const outcome = (action: Action, { result, ticket }: Done): string => {
  switch (result) {
    case "done":
      return doneWords[action.type] ?? "Done."
    case "already":
      return "That was so already."
    case "called":
      return `${ticket} was called.`
    case "no_slot":
      return "Nobody was called: no slot is free."
    case "nobody":
      return "Nobody was called: nobody who waits is present."
    case "more":
      return "Many who were away were cleared; call again."
    case "removed":
      return `${ticket} was removed from the queue.`
    case "ended":
      return `The lease of ${ticket} was ended.`
    case "gone":
      return "Nothing was done: it is over, or has moved on since."
    default:
      return result
  }
}

export const slotState: Readonly<Record<HeldSlot["state"], string>> = {
  called: "Called",
  starting: "Starting",
  in_doubt: "Start not confirmed",
  live: "In call",
}

const actions: Readonly<Record<string, string>> = {
  pause: "Paused calls",
  resume: "Resumed calls",
  drain: "Drained",
  reopen: "Took callers again",
  call: "Called next",
  remove: "Removed",
  end: "Ended lease of",
}
const results: Readonly<Record<string, string>> = {
  done: "Done",
  already: "Was so already",
  called: "Called",
  no_slot: "No free slot",
  nobody: "Nobody present",
  more: "Cleared absent ones",
  removed: "Removed",
  ended_called: "Ended while called",
  ended_starting: "Ended while starting",
  ended_in_doubt: "Freed, start not confirmed",
  ended_live: "Ended in call",
  gone: "Was over already",
}

/** A line of the trail as what was done, and with what result. */
export const trailWords = ({ action, result, target }: AuditLine): readonly [what: string, result: string] => [
  `${actions[action] ?? action}${target === "-" ? "" : ` ${target}`}`,
  results[result] ?? result,
]
