/** Checks who was made present or let go of by a step: by which rule, until when, and which gate may hold whom. */

import { TICK_MILLIS } from "../../src/fifo-queue/FifoQueue.ts"
import { DEAD_MILLIS } from "../../src/fifo-queue/rules/shared/outage.ts"
import { HELD, SILENT_HOLDER_MILLIS } from "../../src/fifo-queue/rules/shared/presence.ts"
import type { Carried } from "./carried.ts"
import { ticketOf } from "./did.ts"

/** When a step gave presence: a newcomer's counts from the latest sweep, where the clock of its gate lags behind that. */
const givenAt = ({ before, name, now }: Carried): number => {
  const sweptAt = before.meta.get("sweptAt") ?? 0
  return name === "admit" && sweptAt - now <= DEAD_MILLIS ? Math.max(now, sweptAt) : now
}

/** Whether a gate has sent no heartbeat for so long that others may take what it holds. */
const isSilent = ({ before, now }: Carried, held: number): boolean =>
  (before.holders.get(String(held - HELD)) ?? 0) < now - SILENT_HOLDER_MILLIS

/** What is wrong when a gate begins to hold a ticket. */
const wrongHold = (step: Carried, id: string, was: number): string | undefined => {
  if (step.name !== "heartbeat" || step.call.since === undefined || !step.call.ids.includes(id))
    return "held by no heartbeat"
  return was >= HELD && !isSilent(step, was) ? "taken from a gate that lives" : undefined
}

/** What is wrong when a gate does not hold a ticket any more, which is present until a time now. */
const wrongRelease = (step: Carried, id: string, was: number, until: number): string | undefined => {
  const isClosed = step.name === "heartbeat" && step.call.closed?.includes(id) === true
  if (isClosed || step.name === "gateGone") {
    return until < step.now + step.graceMillis ? "absent before its grace is over" : undefined
  }
  if (until < step.now) return "absent at once"
  return ["sweep", "attach", "heartbeat"].includes(step.name) && isSilent(step, was) ? undefined : "let go of"
}

/** Presence is granted to the ticket that was seen, until the grace has passed, or to one that a gate holds. */
export const presence = (step: Carried, wrong: Array<string>): void => {
  const seen = new Set(step.name === "heartbeat" ? step.call.ids : [ticketOf(step)])
  // a ticket whose start is in doubt waits again, and so does one whose turn passed while the platform could not be
  // reached
  if (step.name === "sweep" || step.name === "clear") {
    seen.clear()
    for (const id of step.after.waiting.keys()) {
      const was = step.before.tickets.get(id)?.state
      if (was === "starting" || was === "called") seen.add(id)
    }
  }
  const gives = ["heartbeat", "attach", "admit", "fail", "sweep", "clear"].includes(step.name)
  // a poll is not written each time, so it keeps a ticket present for half a grace longer
  const spare = step.name === "attach" && !step.call.connected ? step.graceMillis / 2 : TICK_MILLIS
  for (const [id, until] of step.after.presence) {
    const was = step.before.presence.get(id) ?? 0
    if (until === was) continue
    if (until >= HELD) {
      const why = wrongHold(step, id, was)
      if (why !== undefined) wrong.push(`${id} is ${why}`)
      continue
    }
    if (was >= HELD) {
      const why = wrongRelease(step, id, was, until)
      if (why !== undefined) wrong.push(`${step.name} made ${id} ${why}`)
      continue
    }
    if (until < was) wrong.push(`the presence of ${id} was shortened`)
    if (!gives || !seen.has(id)) wrong.push(`${step.name} made ${id} present`)
    if (until > givenAt(step) + step.graceMillis + spare) wrong.push(`${id} is present for too long`)
  }
}
