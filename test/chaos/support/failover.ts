/** What the scenarios share in which another server takes over from one that is lost. */
import type { Caller } from "./caller.ts"
import { makeRig, type Rig } from "./rig.ts"
import type { Scenario } from "./scenario.ts"

const SIZES = { small: { callers: 60, slots: 5 }, full: { callers: 300, slots: 10 } }

/** How callers may end when the last writes are lost. */
export const FAILOVER_OUTCOMES: ReadonlyArray<string> = ["failed", "unknown", "missed", "dead session", "reclaimed"]

/** Two gates on servers that fail over, and how many callers there are. */
export const makeFailoverRig = async (
  storeUrl: string,
  ...[size, seed, bench]: Parameters<Scenario["run"]>
): Promise<{ readonly rig: Rig; readonly callers: number }> => {
  const { callers, slots } = SIZES[size]
  const times = { joinMillis: 5_000, startMillis: 200 }
  const rig = await makeRig({ seed, bench, storeUrl, gates: 2, slots, ...times, calledAnew: true })
  return { rig, callers }
}

/**
 * The callers whose accepted tickets the store does not have. Those are taken that had a ticket before the store was read: one accepted
 * meanwhile may be missing there.
 */
export const lostCallers = async ({ crowds, view }: Rig): Promise<ReadonlyArray<Caller>> => {
  const accepted = crowds.flatMap(({ callers }) =>
    callers.flatMap((caller) => (caller.ticket === undefined ? [] : [{ caller, ticket: caller.ticket }])),
  )
  const state = await view.look()
  return accepted.flatMap(({ caller, ticket }) => (state?.tickets.has(ticket) === false ? [caller] : []))
}
