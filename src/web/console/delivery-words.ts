/** The console's texts about the deliveries of events. */
import type { Deliveries, Redelivered, Redelivery, TestedEvent } from "../../operator/delivery-shapes.ts"
import { count, dateTime, duration } from "./words.ts"

type Row = Deliveries["rows"][number]

export const deliveryStates: Readonly<
  Record<Row["state"], { readonly text: string; readonly mark: "good" | "bad" | "soon" | "none" }>
> = {
  delivered: { text: "Delivered", mark: "good" },
  pending: { text: "Waiting", mark: "soon" },
  failed: { text: "Given up", mark: "bad" },
  unsent: { text: "Not sent", mark: "none" },
}

const times = (attempts: number): string => (attempts === 1 ? "1 attempt" : `${count(attempts)} attempts`)

/** When it was tried last, how that was answered, and when it is tried next. */
export const answerOf = ({ at, attempts = 0, due, error, state, status }: Row): string => {
  if (at === undefined) return state === "unsent" ? "–" : "Not tried yet"
  const answer = error ?? (status === undefined ? "under way" : `HTTP ${status}`)
  const tried = `${answer}, ${dateTime(at)}${attempts > 1 ? `, ${times(attempts)}` : ""}`
  return state === "pending" && due !== undefined && error !== undefined ? `${tried}; next ${dateTime(due)}` : tried
}

/** One sentence about all deliveries of a campaign. */
export const standingOf = (
  { failed, lastDeliveredAt, lost, oldestAt, pending, sends, stoppedUntil, stored }: Deliveries,
  now: number,
): string => {
  const kept = `${count(stored)} events are kept.`
  if (!sends) return `${kept} None are sent: Events.Url isn’t set.`
  const delivered =
    lastDeliveredAt === undefined
      ? "None was delivered yet."
      : `The last was delivered ${duration(now - lastDeliveredAt)} ago.`
  const since = oldestAt === undefined ? "" : `, the oldest for ${duration(now - oldestAt)}`
  const waiting =
    pending === 0 ? "None waits." : `${count(pending)} ${pending === 1 ? "waits" : "wait"} to be delivered${since}.`
  const gone = failed === 0 ? "" : failed === 1 ? " 1 was given up." : ` ${count(failed)} were given up.`
  const dropped =
    lost === 0 ? "" : ` ${count(lost)} were dropped before they were delivered, or because there were too many.`
  const stopped = stoppedUntil === undefined ? "" : ` The receiver wants none until ${dateTime(stoppedUntil)}.`
  return `${kept} ${delivered} ${waiting}${gone}${dropped}${stopped}`
}

export const redeliveredText = (of: Redelivery, { queued, result }: Redelivered): string => {
  if (of.type === "failed") return queued === 1 ? "1 event is sent again." : `${count(queued)} events are sent again.`
  if (result === "gone") return `Event ${of.seq} isn’t kept any more.`
  return result === "pending" ? `Event ${of.seq} is waiting to be sent anyway.` : `Event ${of.seq} is sent again.`
}

export const testedText = ({ error, status, to, took }: TestedEvent): string =>
  error === undefined
    ? `${to} took the test event: HTTP ${status} after ${count(took)} ms.`
    : `${to} did not take the test event: ${error}.`
