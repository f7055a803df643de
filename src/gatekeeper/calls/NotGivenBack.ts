/**
 * Remembers what failed requests have taken until the store has taken it back. Bounded in total, per caller and per
 * network. Beyond the bounds, and when this process dies, a ticket ends by the disconnect grace or by the deadline of
 * its slot.
 */

import { Context, Effect, Layer } from "effect"
import { shareOf } from "../../fifo-queue/bounds.ts"
import type { Newcomer } from "../../fifo-queue/inputs.ts"
import type { Withdrawals } from "../../fifo-queue/step.ts"
import { makeHeld } from "../../lib/held.ts"
import type { Campaign } from "../../settings/Settings.ts"

/** Maximum remembered requests, in total and per caller. */
export const MAX_REMEMBERED = 10_000
export const MAX_PER_CALLER = 100

/** What a request has taken, or may have taken. */
export interface Remembered {
  readonly campaign: Campaign
  readonly newcomer: Pick<Newcomer, "id" | "caller" | "network">
  /** the ticket must still be withdrawn */
  ticket: boolean
  /** the quota must still be given back */
  quota: boolean
}

export class NotGivenBack extends Context.Service<
  NotGivenBack,
  {
    readonly size: () => number
    readonly all: () => ReadonlyArray<Remembered>
    /** Remembers what a request has taken. False when there is no room. */
    readonly keep: (taken: Remembered) => boolean
    readonly forget: (taken: Remembered) => void
    /** Moves the entry of this request behind the others. */
    readonly postpone: (taken: Remembered) => void
    readonly of: (campaign: Campaign) => Withdrawals
  }
>()("voicegate/gatekeeper/NotGivenBack") {}

/** A network's share of the free places, also where it may have the whole queue. */
const NETWORK_SHARE = 0.25

export const layer: Layer.Layer<NotGivenBack> = Layer.sync(NotGivenBack, () => {
  /** by ticket, oldest first */
  const remembered = new Map<string, Remembered>()
  const callers = makeHeld(MAX_PER_CALLER)
  const networks = makeHeld()
  const withdrawals = new Map<Campaign, Withdrawals>()

  /** As in the queue, a network at its share of the free places gets no more: others need them too. */
  const hasRoom = (network: string): boolean => {
    const free = MAX_REMEMBERED - remembered.size
    const isOverShare =
      network !== "" && remembered.size >= free && networks.of(network) >= shareOf(NETWORK_SHARE, free)
    return free > 0 && !isOverShare
  }

  const withdrawalsOf = (campaign: Campaign): Withdrawals => ({
    ids: () =>
      [...remembered.values()].flatMap((taken) =>
        taken.ticket && taken.campaign === campaign ? [taken.newcomer.id] : [],
      ),
    done: (ids) =>
      Effect.sync(() => {
        for (const id of ids) {
          const entry = remembered.get(id)
          if (entry !== undefined) entry.ticket = false
        }
      }),
  })

  return {
    size: () => remembered.size,
    all: () => [...remembered.values()],
    keep: (taken) => {
      const { caller, id, network } = taken.newcomer
      const known = remembered.get(id)
      if (known !== undefined) {
        known.ticket ||= taken.ticket
        known.quota ||= taken.quota
        return true
      }
      if (!hasRoom(network) || !callers.acquire(caller)) return false
      remembered.set(id, taken)
      networks.acquire(network)
      return true
    },
    forget: ({ newcomer: { caller, id, network } }) => {
      if (!remembered.delete(id)) return
      callers.release(caller)
      networks.release(network)
    },
    postpone: ({ newcomer: { id } }) => {
      const entry = remembered.get(id)
      if (entry !== undefined && remembered.delete(id)) remembered.set(id, entry)
    },
    of: (campaign) => {
      const known = withdrawals.get(campaign) ?? withdrawalsOf(campaign)
      withdrawals.set(campaign, known)
      return known
    },
  }
})
