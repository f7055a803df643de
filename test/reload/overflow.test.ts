/** A reload that begins to offer something else to callers who wait for long. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { load, reload, request, withGate } from "./support.ts"

const Overflow = { AfterSeconds: 60, Offers: ["Call us tel:+4930123456"] }

/** Whether a ticket that has waited for 90 more seconds is offered something. */
const isOffered = (ticket: string) =>
  Effect.gen(function* () {
    const status = Gatekeeper.use((gatekeeper) => gatekeeper.status(ticket))
    for (let seconds = 0; seconds < 90; seconds += 10) {
      yield* TestClock.adjust("10 seconds")
      yield* status
    }
    return "offers" in (yield* status)
  })

describe("a reload of Overflow", () => {
  it.effect("offers it to those who wait already", () =>
    withGate(load(), ({ next }) =>
      Effect.gen(function* () {
        yield* request(1)
        const waits = yield* Effect.flip(request(2))
        const ticket = waits._tag === "Queued" ? waits.uniqueRequestId : ""
        assert.isFalse(yield* isOffered(ticket))
        yield* next(load({ Overflow }))
        assert.strictEqual((yield* reload)._tag, "applied")
        assert.isTrue(yield* isOffered(ticket))
      }),
    ),
  )
})
