/** Shadow limits (`Security.Shadow`) say of each request what the same limits in force would do, and refuse nobody. */

import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { Admission } from "../../src/admission/Admission.ts"
import * as AdmissionLayer from "../../src/admission/layer.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { SettlementKind } from "../../src/protocol/settlements.ts"
import * as RateLimiterLayer from "../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import { Store } from "../../src/store/Store.ts"
import { Chance } from "../harness/chance.ts"
import { settingsWith } from "../harness/settings.ts"
import { onEveryStore } from "../harness/stores.ts"
import { BEGIN } from "../support/gate.ts"

const LIMITS = { RateLimitHourly: 4, RateLimitDaily: 9, RateLimitConcurrency: 3 }
const NONE = { RateLimitHourly: 0, RateLimitDaily: 0, RateLimitConcurrency: 0 }
/** not reached by any history */
const HIGH = { RateLimitHourly: 1_000, RateLimitDaily: 1_000, RateLimitConcurrency: 1_000 }
const SETTLEMENTS: ReadonlyArray<SettlementKind> = ["refund", "release", "missed"]

/** Admits newcomers of one caller under these settings. */
const makeGate = Effect.fnUntraced(function* (
  store: Store["Service"],
  security: Readonly<Record<string, unknown>>,
  admission: typeof AdmissionLayer.layerAtomic,
) {
  const layer = admission.pipe(
    Layer.provideMerge(Layer.mergeAll(RateLimiterLayer.layer, queueLayer)),
    Layer.provide(Layer.succeed(Store, store)),
    Layer.provide(settingsWith({ Security: security })),
  )
  const built = yield* Layer.build(Layer.fresh(layer))
  const limiter = Context.get(built, RateLimiter)
  const { admit } = Context.get(built, Admission)
  const at = { campaign: randomUUID(), slots: 1_000, instance: "" }
  return {
    limiter,
    admit: (caller: string, id: string) =>
      Effect.result(admit(at, { id, caller, network: "", holds: limiter.holds, data: "" })),
  }
})

type Gate = Effect.Success<ReturnType<typeof makeGate>>

/** The limit that refuses, or would refuse, a newcomer. */
const verdictOf = (gate: Gate, caller: string, id: string) =>
  Effect.map(gate.admit(caller, id), (admitted) => {
    if (Result.isSuccess(admitted)) return admitted.success.shadow
    assert(admitted.failure._tag === "RateLimited")
    return admitted.failure.limit
  })

describe("shadow limits", () =>
  onEveryStore((storeLayer) => {
    for (const [name, admission] of [
      ["in one step", AdmissionLayer.layerAtomic],
      ["one after the other", AdmissionLayer.layerSeparate],
    ] as const) {
      for (const [beside, inForce] of [
        ["without others in force", NONE],
        ["beside others in force", HIGH],
      ] as const) {
        it.effect(`refuse nobody, and count what they would refuse, ${name}, ${beside}`, () =>
          Effect.gen(function* () {
            yield* TestClock.setTime(BEGIN)
            const store = yield* Store
            for (let seed = 1; seed <= 8; seed++) {
              const random = new Chance(seed)
              const real = yield* makeGate(store, LIMITS, admission)
              const shadow = yield* makeGate(store, { ...inForce, Shadow: LIMITS }, admission)
              const callers = { real: `real-${randomUUID()}`, shadow: `shadow-${randomUUID()}` }
              const open: Array<string> = []
              let refused = 0
              for (let n = 0; n < 60; n++) {
                const id = `ticket-${n}`
                const expected = yield* verdictOf(real, callers.real, id)
                const found = yield* verdictOf(shadow, callers.shadow, id)
                assert.strictEqual(found === undefined, expected === undefined, `seed ${seed}, request ${n}`)
                if (expected === undefined) open.push(id)
                else refused++
                if (random.percent(50)) {
                  const [token] = open.splice(random.below(Math.max(1, open.length)), 1)
                  const kind = SETTLEMENTS[random.below(3)] ?? "release"
                  if (token !== undefined) {
                    yield* real.limiter[kind](callers.real, token)
                    yield* shadow.limiter[kind](callers.shadow, token)
                  }
                }
                yield* TestClock.adjust(random.below(3) * 700_000)
              }
              assert.isAbove(refused, 3)
              assert.isBelow(refused, 57)
            }
          }).pipe(Effect.provide(storeLayer)),
        )
      }

      it.effect(`two gates count one caller together, ${name}`, () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          const store = yield* Store
          const gates = [
            yield* makeGate(store, { ...NONE, Shadow: { RateLimitHourly: 2 } }, admission),
            yield* makeGate(store, { ...NONE, Shadow: { RateLimitHourly: 2 } }, admission),
          ]
          const caller = randomUUID()
          const found = yield* Effect.forEach([0, 1, 0, 1, 0], (which, n) => {
            const gate = gates[which]
            assert(gate !== undefined)
            return verdictOf(gate, caller, `ticket-${n}`)
          })
          assert.deepStrictEqual(found, [undefined, undefined, "hour", "hour", "hour"])
          // an hour later it has two units again, since what was refused took none
          yield* TestClock.adjust("1 hour")
          const [gate] = gates
          assert(gate !== undefined)
          const later = yield* Effect.forEach([5, 6, 7], (n) => verdictOf(gate, caller, `ticket-${n}`))
          assert.deepStrictEqual(later, [undefined, undefined, "hour"])
        }).pipe(Effect.provide(storeLayer)),
      )

      it.effect(`a caller with four fifths of a limit in force is near it, ${name}`, () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          const security = { RateLimitHourly: 5, RateLimitDaily: 10, RateLimitConcurrency: 0 }
          const gate = yield* makeGate(yield* Store, security, admission)
          const caller = randomUUID()
          const near: Array<string> = []
          for (let n = 0; n < 10; n++) {
            const admitted = yield* gate.admit(caller, `ticket-${n}`)
            assert(Result.isSuccess(admitted))
            const { near: found = { hour: false, day: false } } = admitted.success
            near.push(`${found.hour ? "hour" : ""}${found.day ? "day" : ""}`)
            if (n === 4) yield* TestClock.adjust("1 hour")
          }
          assert.deepStrictEqual(near, ["", "", "", "hour", "hour", "", "", "day", "hourday", "hourday"])
        }).pipe(Effect.provide(storeLayer)),
      )

      it.effect(
        `an admission near a limit in force and beyond a shadow one says both, beside its result, ${name}`,
        () =>
          Effect.gen(function* () {
            yield* TestClock.setTime(BEGIN)
            const shadow = { ...NONE, RateLimitHourly: 3 }
            const security = { ...NONE, RateLimitHourly: 5, Shadow: shadow }
            const gate = yield* makeGate(yield* Store, security, admission)
            const caller = randomUUID()
            const noted: Array<unknown> = []
            for (let n = 0; n < 4; n++) {
              const admitted = yield* gate.admit(caller, `ticket-${n}`)
              assert(Result.isSuccess(admitted))
              const { near, result, shadow } = admitted.success
              assert.deepStrictEqual(Object.keys(result).toSorted(), ["_tag", "lease"])
              noted.push([near, shadow])
            }
            assert.deepStrictEqual(noted.slice(0, 3), [
              [undefined, undefined],
              [undefined, undefined],
              [undefined, undefined],
            ])
            assert.deepStrictEqual(noted[3], [{ hour: true, day: false }, "hour"])
          }).pipe(Effect.provide(storeLayer)),
      )
    }
  }))
