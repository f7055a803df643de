/** Who asks most, whom the gates refused lately, and whom operators block: on the store, for all instances. */
import { Effect, Option, Schema } from "effect"
import type { Block } from "../gatekeeper/CallerWatch.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import {
  type BlockOrder,
  type CallersReport,
  callersOf,
  type ForgottenSeen,
  forgetSeen,
  LATEST_MAX,
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
    latest: optionalKey(List(Text)),
    asked: optionalKey(List(Text)),
    refused: optionalKey(List(Text)),
  }),
)
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
const shared = [key("latest"), key("blocks")]
/** The keys of a period by its number since 1970. One more than is shown is kept, so that a late report is of its own period. */
const ofPeriod = (period: number): ReadonlyArray<string> => {
  const slot = period % (PERIODS + 2)
  return [key(`asked:${slot}`), key(`refused:${slot}`)]
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.fromJsonString(RefusedRequest))

/** Sums of an address and a count, one after the other. */
const sumsOf = (pairs: ReadonlyArray<string> = []): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const address = pairs[i] ?? ""
    sums.set(address, (sums.get(address) ?? 0) + Number(pairs[i + 1]))
  }
  return sums
}

export interface KnownBlocks {
  readonly version: number
  readonly blocks?: ReadonlyArray<Block>
}

export interface CallersStore {
  /** Adds what this instance has seen. Answers with the blocks where they are not those that it `knows`. */
  readonly report: (seen: CallersReport) => Effect.Effect<KnownBlocks, StoreUnavailable>
  /** The latest refusals, newest first. */
  readonly latest: Effect.Effect<ReadonlyArray<RefusedRequest>, StoreUnavailable>
  /** The addresses that have asked most in the last hour, most first, and the blocks, newest first. */
  readonly asking: Effect.Effect<Asking, StoreUnavailable>
  readonly order: (
    order: BlockOrder,
  ) => Effect.Effect<KnownBlocks & { readonly result: "done" | "already" | "full" }, StoreUnavailable>
  /** Forgets what was seen of an address under these names, or counts it. */
  readonly forget: (addresses: ReadonlyArray<string>, remove: boolean) => Effect.Effect<ForgottenSeen, StoreUnavailable>
}

export const makeCallers = (store: Store["Service"]): CallersStore => {
  const at = <A>(use: (now: number, period: number) => Effect.Effect<A, StoreUnavailable>) =>
    Effect.flatMap(store.now, (now) => use(now, Math.floor(now / PERIOD_MILLIS)))
  return {
    report: (call) =>
      at((now, period) =>
        store.run(reportRule, { keys: [...shared, ...ofPeriod(period)], now, context: NO_CONTEXT, call }),
      ),
    latest: at((now) =>
      Effect.map(
        store.run(callersRule, {
          keys: shared,
          now,
          context: NO_CONTEXT,
          call: { addresses: 0, refusals: LATEST_MAX },
        }),
        ({ latest = [] }) => latest.toReversed().flatMap((text) => Option.toArray(decodeRefusal(text))),
      ),
    ),
    asking: at((now, period) =>
      Effect.map(
        store.run(callersRule, {
          keys: [...shared, ...Array.from({ length: PERIODS }, (_, i) => ofPeriod(period - i)).flat()],
          now,
          context: NO_CONTEXT,
          call: { addresses: READ, refusals: 0 },
        }),
        ({ asked, blocks = [], refused }) => {
          const refusals = sumsOf(refused)
          return {
            addresses: [...sumsOf(asked)]
              .toSorted(([, a], [, b]) => b - a)
              .slice(0, SHOWN)
              .map(([address, requests]) => ({ address, requests, refused: refusals.get(address) ?? 0 })),
            blocks: blocks.toSorted((a, b) => b.at - a.at),
          }
        },
      ),
    ),
    forget: (addresses, remove) =>
      at((now) =>
        store.run(forgetRule, {
          keys: [...shared, ...Array.from({ length: PERIODS + 2 }, (_, slot) => ofPeriod(slot)).flat()],
          now,
          context: NO_CONTEXT,
          call: { addresses, ...(remove ? { remove: true as const } : {}) },
        }),
      ),
    order: (call) => at((now) => store.run(orderRule, { keys: shared, now, context: NO_CONTEXT, call })),
  }
}
