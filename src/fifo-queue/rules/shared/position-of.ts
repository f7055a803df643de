/** The position of a ticket, by how many are called before it (`fair-places.ts`, while `Queue.NetworkShare` is below 1). */
import { positionAt } from "../../position.ts"
import { calledBefore, calledBeforeNewcomer, type LastPlaces } from "./fair-places.ts"
import { load } from "./load.ts"
import type { Step } from "./step.ts"
import type { Ticket } from "./ticket.ts"

/**
 * Of a waiting ticket.
 *
 * @param rank how many older tickets wait
 * @param known its record, where the rule has read it
 */
export const positionOf = (s: Step, id: string, rank: number, known?: Ticket): number => {
  if (s.context.share >= 1) return positionAt(rank)
  const ticket = known ?? load(s, id)
  return positionAt(ticket === undefined ? rank : calledBefore(s, id, ticket, rank))
}

/**
 * Of a newcomer that waits, behind `rank` others of whom `own` are of its network.
 *
 * @param places undefined while `Queue.NetworkShare` has no effect
 */
export const positionOfNewcomer = (
  s: Step,
  places: LastPlaces | undefined,
  newcomer: { readonly id: string; readonly network: string },
  seq: number,
  rank: number,
  own: number,
): number => positionAt(places === undefined ? rank : calledBeforeNewcomer(s, places, newcomer, seq, rank, own))
