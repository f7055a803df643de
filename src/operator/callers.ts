/** Who asks most, whom the gates refused lately, and whom operators block: on the store, for all instances. */
import { Effect, Option, Schema } from "effect"
import type { Block } from "../gatekeeper/CallerWatch.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import {
  type BlockOrder,
  type CallersReport,
  callersOf,
  type ForgottenSeen,
  forgetSeen,
  latestOf,
  orderBlock,
  PERIOD_MILLIS,
  PERIODS,
  reportCallers,
} from "./rules/callers.ts"
import { type Asking, RefusedRequest } from "./shapes.ts"

const { Array: List, Finite, Literals, String: Text, Struct, optionalKey } = Schema

const known = {
  version: Finite,
  blocks: optionalKey(List(Struct({ address: Text, until: Finite, at: Finite, by: Text }))),
}
const reportRule = ruleOf("operator.reportCallers", runPlain(reportCallers), Struct(known))
const callersRule = ruleOf(
  "operator.callers",
  runPlain(callersOf),
  Struct({
    ...known,
    asked: optionalKey(List(Text)),
    refused: optionalKey(List(Text)),
  }),
)
const latestRule = ruleOf("operator.latestRefusals", runPlain(latestOf), Struct({ latest: optionalKey(List(Text)) }))
const orderRule = ruleOf(
  "operator.orderBlock",
  runPlain(orderBlock),
  Struct({ ...known, result: Literals(["done", "already", "full"]) }),
)

const forgetRule = ruleOf("operator.forgetSeen", runPlain(forgetSeen), Struct({ seen: Finite, blocks: Finite }))

/** The addresses that are shown of those that ask most, and those that are read of each period to find them. */
const SHOWN = 20
const READ = 100

const key = (name: string): string => `vg:2:{console}:${name}`
const blocksKey = key("blocks")
/** Refusals of a campaign; "" are requests that name none. Gates of 0.1 and before keep those of all campaigns there. */
const latestKey = (campaign: string): string => key(campaign === "" ? "latest" : `latest:${campaign}`)
/** The keys of a period by its number since 1970. One more than is shown is kept, so that a late report is of its own period. */
const ofPeriod = (period: number): ReadonlyArray<string> => {
  const slot = period % (PERIODS + 2)
  return [key(`asked:${slot}`), key(`refused:${slot}`)]
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.fromJsonString(RefusedRequest))

/** The refusals of each campaign that has any. */
const byCampaign = (refusals: ReadonlyArray<RefusedRequest>): ReadonlyMap<string, ReadonlyArray<RefusedRequest>> =>
  Map.groupBy(refusals, ({ campaign }) => campaign)

/** Sums of an address and a count, one after the other. */
const sumsOf = (pairs: ReadonlyArray<string> = []): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const address = pairs[i] ?? ""
    sums.set(address, (sums.get(address) ?? 0) + Number(pairs[i + 1]))
  }
  return sums
}

/** As a time of day. */
const blockMovedBy = (block: Block, millis: number): Block => ({
  ...block,
  at: block.at + millis,
  until: block.until === 0 ? 0 : block.until + millis,
})

/** Blocks as the store knows them: in the store's time. */
export interface KnownBlocks {
  readonly version: number
  readonly blocks?: ReadonlyArray<Block>
}

/** What an instance has seen since its last report; the refusals oldest first. */
export interface SeenCallers extends Omit<CallersReport, "latest"> {
  readonly latest: ReadonlyArray<RefusedRequest>
}

export interface CallersStore {
  /** Adds what this instance has seen. Answers with the blocks where they are not those that it `knows`. */
  readonly report: (seen: SeenCallers) => Effect.Effect<KnownBlocks, StoreUnavailable>
  /** The latest refusals of a campaign, and of requests that name none, newest first. */
  readonly latest: (campaign: string) => Effect.Effect<ReadonlyArray<RefusedRequest>, StoreUnavailable>
  /** The addresses that have asked most in the last hour, most first, and the blocks by the time of day, newest first. */
  readonly asking: Effect.Effect<Asking, StoreUnavailable>
  /** `until` is a time of day, as in the blocks of `asking`. */
  readonly order: (
    order: BlockOrder,
  ) => Effect.Effect<KnownBlocks & { readonly result: "done" | "already" | "full" }, StoreUnavailable>
  /** Forgets what was seen of an address under these names at these campaigns, or counts it. */
  readonly forget: (
    addresses: ReadonlyArray<string>,
    campaigns: ReadonlyArray<string>,
    remove: boolean,
  ) => Effect.Effect<ForgottenSeen, StoreUnavailable>
}

export const makeCallers = (store: Store["Service"]): CallersStore => {
  const at = <A>(use: (now: number, period: number) => Effect.Effect<A, StoreUnavailable>) =>
    Effect.flatMap(store.now, (now) => use(now, Math.floor(now / PERIOD_MILLIS)))
  return {
    report: ({ latest, ...seen }) =>
      at((now, period) => {
        const lists = byCampaign(latest)
        return store.run(reportRule, {
          keys: [blocksKey, ...ofPeriod(period), ...[...lists.keys()].map(latestKey)],
          now,
          context: NO_CONTEXT,
          call: { ...seen, latest: [...lists.values()].map((list) => list.map((each) => JSON.stringify(each))) },
        })
      }),
    latest: (campaign) =>
      at((now) =>
        Effect.map(
          store.run(latestRule, {
            keys: [latestKey(campaign), latestKey("")],
            now,
            context: NO_CONTEXT,
            call: {},
          }),
          ({ latest = [] }) =>
            latest
              .flatMap((text) => Option.toArray(decodeRefusal(text)))
              .filter((each) => each.campaign === campaign || each.campaign === "")
              .toReversed()
              .toSorted((a, b) => b.at - a.at),
        ),
      ),
    asking: at((now, period) =>
      Effect.map(
        store.run(callersRule, {
          keys: [blocksKey, ...Array.from({ length: PERIODS }, (_, i) => ofPeriod(period - i)).flat()],
          now,
          context: NO_CONTEXT,
          call: { addresses: READ },
        }),
        ({ asked, blocks = [], refused }) => {
          const refusals = sumsOf(refused)
          return {
            addresses: [...sumsOf(asked)]
              .toSorted(([, a], [, b]) => b - a)
              .slice(0, SHOWN)
              .map(([address, requests]) => ({ address, requests, refused: refusals.get(address) ?? 0 })),
            blocks: blocks.toSorted((a, b) => b.at - a.at).map((block) => blockMovedBy(block, aheadOf(store))),
          }
        },
      ),
    ),
    forget: (addresses, campaigns, remove) =>
      at((now) => {
        const lists = ["", ...campaigns].map(latestKey)
        return store.run(forgetRule, {
          keys: [blocksKey, ...lists, ...Array.from({ length: PERIODS + 2 }, (_, slot) => ofPeriod(slot)).flat()],
          now,
          context: NO_CONTEXT,
          call: { addresses, lists: lists.length, ...(remove ? { remove: true as const } : {}) },
        })
      }),
    order: ({ until, ...order }) =>
      at((now) => {
        // the rule compares it with the store's time; 0 is no end
        const end = until === undefined || until === 0 ? until : until - aheadOf(store)
        const call = { ...order, ...(end === undefined ? {} : { until: end }) }
        return store.run(orderRule, { keys: [blocksKey], now, context: NO_CONTEXT, call })
      }),
  }
}
