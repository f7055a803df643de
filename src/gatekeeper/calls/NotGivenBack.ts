/**
 * Remembers what failed requests have taken until the store has taken it back. Bounded in total, per caller and per
 * network. Beyond the bounds, and when this process dies, a ticket ends by the disconnect grace or by the deadline of
 * its slot.
 */

import { Context, Effect, Layer } from "effect"
import { shareOf } from "../../fifo-queue/bounds.ts"
import type { Withdrawals } from "../../fifo-queue/step.ts"
import { makeHeld } from "../../lib/held.ts"
import type { Campaign } from "../../settings/Settings.ts"
import type { CallerKeys } from "../checks/caller-keys.ts"

/** Maximum remembered requests, in total and per caller. */
export const MAX_REMEMBERED = 10_000
export const MAX_PER_CALLER = 100

/** What a request has taken, or may have taken. */
export interface Taken extends CallerKeys {
  readonly ticket: string
  readonly campaign: Campaign
}

export interface Remembered {
  readonly taken: Taken
  /** the ticket must still be withdrawn, before its quota is given back */
  ticket: boolean
}

export class NotGivenBack extends Context.Service<
  NotGivenBack,
  {
    readonly size: () => number
    readonly all: () => ReadonlyArray<Remembered>
    /** Remembers a request, and with `ticket` that its ticket must be withdrawn. False when there is no room. */
    readonly keep: (taken: Taken, ticket: boolean) => boolean
    readonly forget: (taken: Taken) => void
    /** Moves the entry of this request behind the others. */
    readonly postpone: (taken: Taken) => void
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
      [...remembered.values()].flatMap(({ taken, ticket }) =>
        ticket && taken.campaign === campaign ? [taken.ticket] : [],
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
    keep: (taken, ticket) => {
      const known = remembered.get(taken.ticket)
      if (known !== undefined) {
        known.ticket ||= ticket
        return true
      }
      if (!hasRoom(taken.network) || !callers.acquire(taken.caller)) return false
      remembered.set(taken.ticket, { taken, ticket })
      networks.acquire(taken.network)
      return true
    },
    forget: ({ caller, network, ticket }) => {
      if (!remembered.delete(ticket)) return
      callers.release(caller)
      networks.release(network)
    },
    postpone: ({ ticket }) => {
      const entry = remembered.get(ticket)
      if (entry !== undefined && remembered.delete(ticket)) remembered.set(ticket, entry)
    },
    of: (campaign) => {
      const known = withdrawals.get(campaign) ?? withdrawalsOf(campaign)
      withdrawals.set(campaign, known)
      return known
    },
  }
})
