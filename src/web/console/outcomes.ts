/** What an action did, as texts: when it is done, and in its line of the activity log. */
import type { Action, ActionOutcome } from "../../fifo-queue/operator/actions.ts"
import { actionWords, loggedResults, outcomeTexts } from "../../operator/action-words.ts"
import type { AuditLine, Reloaded } from "../../operator/shapes.ts"
import { chosenTime } from "./words.ts"

/** How long an outcome is shown, in milliseconds. */
export const OUTCOME_MILLIS = 6_000

export const reloadText = ({ changed, kept }: Reloaded): string => {
  const change = changed.length === 0 ? "No setting has changed." : `Changed: ${changed.join(", ")}.`
  return kept.length === 0 ? change : `${change} Takes a restart: ${kept.join(", ")}.`
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
  ["redeliver", "Sent again:"],
  ["forget", "Forgot"],
  ["block", "Blocked"],
  ["unblock", "Lifted the block of"],
  ...Object.entries(actionWords).map(([type, { logged }]): [string, string] => [type, logged]),
])

/** What a line is about: the end of a pause or a block in the time zone of the page, which the log has in UTC. */
const targetText = (target: string): string => {
  if (target === "-") return ""
  const [, of = "", end = ""] = /^(|\S+ )until (\S+)$/.exec(target) ?? []
  const until = Date.parse(end)
  return Number.isNaN(until) ? ` ${target}` : ` ${of}until ${chosenTime(until)}`
}

export const auditTexts = ({
  action,
  result,
  target,
}: AuditLine): { readonly what: string; readonly result: string } => ({
  what: `${loggedActions.get(action) ?? action}${targetText(target)}`,
  result: loggedResults[result] ?? result,
})

/** What became of a block, or of lifting one (`until` is undefined). */
export const blockText = (address: string, until: number | undefined, result: "done" | "already" | "full"): string => {
  if (result === "full") return "Nothing was blocked: as many addresses are blocked as may be. Lift a block first."
  if (until === undefined)
    return result === "done" ? `${address} isn’t blocked any more.` : `${address} wasn’t blocked.`
  return until === 0 ? `${address} is blocked.` : `${address} is blocked until ${chosenTime(until)}.`
}
