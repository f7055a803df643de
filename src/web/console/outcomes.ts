/** What an action did, as texts: when it is done, and in its line of the activity log. */
import type { Action, ActionOutcome } from "../../fifo-queue/operator-schemas.ts"
import type { AuditLine, Reloaded } from "../../operator/shapes.ts"
import { actionWords } from "./actions.ts"
import { chosenTime } from "./words.ts"

export const reloadText = ({ changed, kept }: Reloaded): string => {
  const change = changed.length === 0 ? "No setting has changed." : `Changed: ${changed.join(", ")}.`
  return kept.length === 0 ? change : `${change} Takes a restart: ${kept.join(", ")}.`
}

const outcomeTexts: Readonly<Record<ActionOutcome["result"], (ticket: string, type: Action["type"]) => string>> = {
  done: (_, type) => actionWords[type].done ?? "Done.",
  already: () => "No change needed.",
  called: (ticket) => `${ticket} was called.`,
  no_slot: () => "No one was called: no slot is free.",
  nobody: () => "No one was called: no waiting caller is present.",
  more: () => "Cleared many absent callers. Try again.",
  removed: (ticket) => `Removed ${ticket} from the queue.`,
  ended: (ticket) => `Ended ${ticket}. The slot is free.`,
  freed: (ticket) => `The slot of ${ticket} is free. Its call may still be running at the platform.`,
  ending: (ticket) => `The platform hasn’t confirmed the end of ${ticket} yet. The slot is free within a minute.`,
  gone: () => "Nothing to do: it has already ended or changed.",
}

/** The outcome of a pause that is not "no change". */
const pauseText = (until: number | undefined, result: ActionOutcome["result"]): string => {
  if (result === "gone") return "Nothing changed: that time has passed."
  return until === undefined ? "Calls paused." : `Calls paused until ${chosenTime(until)}.`
}

export const outcomeText = (action: Action, { result, ticket }: ActionOutcome): string =>
  action.type === "pause" && result !== "already"
    ? pauseText(action.until, result)
    : outcomeTexts[result](ticket, action.type)

/** A gate of another version may log an action that this page does not know. */
const loggedActions: ReadonlyMap<string, string> = new Map([
  ["settings", "Changed settings"],
  ...Object.entries(actionWords).map(([type, { logged }]): [string, string] => [type, logged]),
])

const loggedResults: Readonly<Record<string, string>> = {
  done: "Done",
  already: "No change",
  called: "Called",
  no_slot: "No free slot",
  nobody: "No one present",
  more: "Absent callers cleared",
  removed: "Removed",
  ended_called: "Removed after being called",
  ended_starting: "Start canceled",
  ended_in_doubt: "Freed, start unconfirmed",
  ended_live: "Call ended",
  ending_live: "Asked the platform",
  ended_at_platform: "Ended at the platform",
  freed_live: "Freed, may still run at the platform",
  gone: "Already gone",
}

/** What a line is about: the end of a pause in the time zone of the page, which the log has in UTC. */
const targetText = (target: string): string => {
  if (target === "-") return ""
  const until = target.startsWith("until ") ? Date.parse(target.slice("until ".length)) : Number.NaN
  return Number.isNaN(until) ? ` ${target}` : ` until ${chosenTime(until)}`
}

export const auditTexts = ({
  action,
  result,
  target,
}: AuditLine): { readonly what: string; readonly result: string } => ({
  what: `${loggedActions.get(action) ?? action}${targetText(target)}`,
  result: loggedResults[result] ?? result,
})
