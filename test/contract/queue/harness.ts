/** One test of the queue over one store: its own campaign, and every invariant checked after every step. */
import { createHash } from "node:crypto"
import { it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../../src/fifo-queue/layer.ts"
import type { Settings } from "../../../src/settings/Settings.ts"
import type { Store } from "../../../src/store/Store.ts"
import { settingsWith } from "../../harness/settings.ts"
import { BEGIN } from "../../support/gate.ts"
import { type Bench, makeBench } from "../../support/queue-bench.ts"

/** The defaults of the settings, which tests use unless they set others. */
export const WINDOW = 30_000
export const GRACE = 30_000
export const LONGEST_CALL = 30 * 60_000
export const START_LEASE = 30_000

export interface Given {
  readonly slots: number
  readonly maxLength?: number
  readonly share?: number
  /** `Queue.OpenSeconds` */
  readonly openSeconds?: number
  /**
   * How far the gates' clocks are ahead of the store's (ms). A server's clock continues while a test's clock stands
   * still, so steps would otherwise seem to have taken long to arrive.
   */
  readonly ahead?: number
}

export type QueueTest = (
  name: string,
  given: Given,
  body: (bench: Bench) => Effect.Effect<void, unknown, FifoQueue | Settings | Store | Scope.Scope>,
) => void

export const queueTest =
  (store: Layer.Layer<Store>): QueueTest =>
  (name, { ahead = 600_000, maxLength = 10_000, openSeconds = 0, share = 0.25, slots }, body) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        yield* TestClock.adjust(ahead)
        const bench = yield* makeBench(slots)
        yield* body(bench)
        yield* bench.close
      }).pipe(
        Effect.provide(
          queueLayer.pipe(
            Layer.provideMerge(store),
            Layer.provideMerge(
              settingsWith({ Queue: { MaxLength: maxLength, NetworkShare: share, OpenSeconds: openSeconds } }),
            ),
          ),
        ),
        (tested) => Effect.andThen(TestClock.setTime(BEGIN), tested),
      ),
    )

/** `t1` to `t<count>`. */
export const ids = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, i) => `t${i + 1}`)

/** How an operator knows a ticket. */
export const hash = (id: string): string => createHash("sha1").update(id).digest("hex").slice(0, 10)

/** The lease of a ticket, and its deadline (ms). */
export const leaseOf = (q: Bench, id: string): readonly [string, number] => [
  q.state().tickets.get(id)?.lease ?? "",
  q.state().leases.get(id) ?? 0,
]
