/** What a caller takes is counted also by a gate whose settings can change. */
import { assert, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { offerTaken } from "../../src/gatekeeper/metrics.ts"
import { load, request, withGate } from "./support.ts"

const offering = load({ Overflow: { AfterSeconds: 60, Offers: ["Call us tel:+4930123456"] } })

it.effect("a caller who leaves for a number that was offered is counted", () =>
  withGate(offering, () =>
    Effect.gen(function* () {
      yield* request(1)
      const waiting = yield* Effect.flip(request(2))
      if (waiting._tag !== "Queued") return assert.fail(waiting._tag)
      const gate = yield* Gatekeeper
      yield* gate.leave(waiting.uniqueRequestId, "number")
      const { count } = yield* Metric.value(offerTaken("default", "number"))
      assert.strictEqual(count, 1)
    }),
  ),
)
