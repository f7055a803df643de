/**
 * Who asks for sessions and whom the gate refuses, for the operators' console, and the addresses that operators block. Bounded, and absent
 * without a console. What is noted here is lost with the process: the console takes it every few seconds.
 */
import { Context, Effect, Layer } from "effect"
import { CallerNames } from "../caller-names/CallerNames.ts"
import { limitKey, networkKey } from "../lib/ip/address.ts"
import type { RequestRefusal } from "../protocol/refusals.ts"
import { Settings } from "../settings/Settings.ts"
import { type RefusalReason, reasonOf } from "./metrics.ts"

/** The most addresses that are counted until the next `take`, and of those the most that it returns. */
const ADDRESSES_MAX = 2_000
const TAKEN_MAX = 50
/** The most refusals that are kept until then of each campaign, the newest, and of those the most that are returned. */
const REFUSALS_MAX = 20
const REFUSALS_TAKEN_MAX = 400

export interface SeenRefusal {
  /** empty when the request names none that exists */
  readonly campaign: string
  readonly reason: RefusalReason
  /** the name of the budget that is used up; absent for another reason */
  readonly budget?: string
  /** as operators see it */
  readonly address: string
}

export interface Seen {
  /** how often each address has asked, and was refused */
  readonly asked: Readonly<Record<string, number>>
  readonly refused: Readonly<Record<string, number>>
  /** oldest first of each campaign */
  readonly latest: ReadonlyArray<SeenRefusal>
}

/** An address, or a network, that an operator has blocked. Times in ms since 1970. */
export interface Block {
  /** as operators see it */
  readonly address: string
  /** 0 for no end */
  readonly until: number
  readonly at: number
  readonly by: string
}

export interface Watch {
  /** Notes a request; `refusal` is undefined for one that was not refused. */
  readonly note: (address: string, refusal: RequestRefusal | undefined, campaign: string) => void
  /** What was noted since the last time. The names of addresses must be ready (`CallerNames.ready`). */
  readonly take: () => Seen
  readonly isBlocked: (address: string) => boolean
  readonly setBlocks: (blocks: ReadonlyArray<Block>) => void
  /** The addresses that are blocked at this time (ms since 1970), as operators see them. */
  readonly expire: (now: number) => void
}

export class CallerWatch extends Context.Service<
  CallerWatch,
  {
    /** undefined without a console */
    readonly watch: Watch | undefined
  }
>()("voicegate/gatekeeper/CallerWatch") {}

const most = (counts: ReadonlyMap<string, number>, name: (address: string) => string): Record<string, number> =>
  Object.fromEntries(
    [...counts]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, TAKEN_MAX)
      .map(([address, count]) => [name(address), count]),
  )

export const makeWatch = (names: CallerNames["Service"]): Watch => {
  let asked = new Map<string, number>()
  let refused = new Map<string, number>()
  let latest = new Map<string, Array<SeenRefusal>>()
  let blocks = new Map<string, Block>()
  const add = (counts: Map<string, number>, address: string): void => {
    const count = counts.get(address)
    if (count === undefined && counts.size >= ADDRESSES_MAX) {
      // many addresses that have asked once must not hide one that asks often
      for (const [each, once] of counts) if (once === 1) counts.delete(each)
      if (counts.size >= ADDRESSES_MAX) return
    }
    counts.set(address, (count ?? 0) + 1)
  }
  return {
    note: (address, refusal, campaign) => {
      const caller = limitKey(address)
      add(asked, caller)
      if (refusal === undefined) return
      add(refused, caller)
      const list = latest.get(campaign)
      const budget = refusal._tag === "BudgetExhausted" ? { budget: refusal.budget } : {}
      const seen = { address: caller, campaign, reason: reasonOf(refusal), ...budget }
      if (list === undefined) latest.set(campaign, [seen])
      else {
        list.push(seen)
        if (list.length > REFUSALS_MAX) list.shift()
      }
    },
    take: () => {
      // of many campaigns, each has a few
      const each = Math.max(1, Math.floor(REFUSALS_TAKEN_MAX / Math.max(1, latest.size)))
      const seen = {
        asked: most(asked, names.of),
        refused: most(refused, names.of),
        latest: [...latest.values()]
          .flatMap((list) => list.slice(-each))
          .map((seen) => ({ ...seen, address: names.of(seen.address) })),
      }
      asked = new Map()
      refused = new Map()
      latest = new Map()
      return seen
    },
    isBlocked: (address) => {
      // hot path: nobody is blocked most of the time
      if (blocks.size === 0) return false
      if (blocks.has(names.of(limitKey(address)))) return true
      const network = networkKey(address)
      return network !== "" && blocks.has(names.of(network))
    },
    setBlocks: (all) => {
      blocks = new Map(all.map((block) => [block.address, block]))
    },
    expire: (now) => {
      for (const { address, until } of blocks.values()) if (until !== 0 && until <= now) blocks.delete(address)
    },
  }
}

export const layer: Layer.Layer<CallerWatch, never, CallerNames | Settings> = Layer.effect(
  CallerWatch,
  Effect.gen(function* () {
    const { Security } = yield* Settings
    return { watch: Security.ConsoleToken.length === 0 ? undefined : makeWatch(yield* CallerNames) }
  }),
)
