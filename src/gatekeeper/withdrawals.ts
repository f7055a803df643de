/**
 * Remembers what requests have taken and nothing came of, until the store has taken it back. Bounded in all, and by caller and network: beyond
 * that, and when this process dies, a ticket is left to the disconnect grace or to the deadline of its slot.
 */
import { Effect, Metric } from "effect"
import { makeConnectionCounter } from "../connection-counter.ts"
import type { Withdrawals } from "../FifoQueue.ts"
import { shareOf } from "../rules/ticket.ts"
import type { Campaign } from "../Settings.ts"
import * as metrics from "./metrics.ts"

/** The most requests that are remembered, and the most of one caller. */
export const MOST_KEPT = 10_000
export const MOST_OF_CALLER = 100

/** What a request has taken, or may have. */
export interface Taken {
  readonly ticket: string
  /** the rate limiter's key */
  readonly caller: string
  /** whose share of what is remembered it counts to; empty for none */
  readonly network: string
  readonly campaign: Campaign
}

export interface Kept {
  readonly taken: Taken
  /** the ticket is still to be withdrawn, before its quota is given back */
  ticket: boolean
}

export interface Memory {
  readonly size: () => number
  readonly all: () => ReadonlyArray<Kept>
  /** Remembers a request, and its ticket too where that is to be withdrawn. False where there is no room. */
  readonly keep: (taken: Taken, ticket: boolean) => boolean
  readonly forget: (taken: Taken) => void
  /** Others are tried before this one. */
  readonly postpone: (taken: Taken) => void
  /** The tickets of a campaign that are to be withdrawn. */
  readonly of: (campaign: Campaign) => Withdrawals
}

/** @param share a network's share of the free places */
export const makeMemory = (share: number): Memory => {
  /** by ticket, the oldest first */
  const kept = new Map<string, Kept>()
  const callers = makeConnectionCounter(MOST_OF_CALLER)
  const networks = new Map<string, number>()
  const withdrawals = new Map<Campaign, Withdrawals>()

  /** A network that has its share of the free places gets no more, as in the queue: others need them too. */
  const hasPlace = (network: string): boolean => {
    const free = MOST_KEPT - kept.size
    const crowded = network !== "" && kept.size >= free && (networks.get(network) ?? 0) >= shareOf(share, free)
    return free > 0 && !crowded
  }

  const withdrawalsOf = (campaign: Campaign): Withdrawals => ({
    ids: () =>
      [...kept.values()].flatMap(({ taken, ticket }) => (ticket && taken.campaign === campaign ? [taken.ticket] : [])),
    done: (ids, ended) => {
      for (const id of ids) {
        const each = kept.get(id)
        if (each !== undefined) each.ticket = false
      }
      return ended > 0 ? Metric.update(metrics.over("left"), ended) : Effect.void
    },
  })

  return {
    size: () => kept.size,
    all: () => [...kept.values()],
    keep: (taken, ticket) => {
      const known = kept.get(taken.ticket)
      if (known !== undefined) {
        known.ticket ||= ticket
        return true
      }
      if (!hasPlace(taken.network) || !callers.acquire(taken.caller)) return false
      kept.set(taken.ticket, { taken, ticket })
      networks.set(taken.network, (networks.get(taken.network) ?? 0) + 1)
      return true
    },
    forget: ({ caller, network, ticket }) => {
      if (!kept.delete(ticket)) return
      callers.release(caller)
      const left = (networks.get(network) ?? 1) - 1
      if (left === 0) networks.delete(network)
      else networks.set(network, left)
    },
    postpone: ({ ticket }) => {
      const waits = kept.get(ticket)
      if (waits !== undefined && kept.delete(ticket)) kept.set(ticket, waits)
    },
    of: (campaign) => {
      const known = withdrawals.get(campaign) ?? withdrawalsOf(campaign)
      withdrawals.set(campaign, known)
      return known
    },
  }
}
