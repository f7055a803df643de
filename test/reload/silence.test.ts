/** A reload that sets, changes and removes `SilenceSeconds` while calls run. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { BEGIN } from "../support/gate.ts"
import { load, reload, request, withGate } from "./support.ts"

const limit = (SilenceSeconds?: number) => load(SilenceSeconds === undefined ? {} : { SilenceSeconds })
const silence = (ticket: string, seconds: number) => Gatekeeper.use((gate) => gate.silence(ticket, seconds * 1000))
const statusOf = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const started = Effect.flatMap(request(1), (outcome) => {
  assert.property(outcome, "sessionId")
  return Effect.succeed(outcome)
})

describe("a reload while a call runs", () => {
  it.effect(
    "a reload that sets SilenceSeconds while a call runs has it hold for the call, whose page may report from now on",
    () =>
      withGate(limit(), ({ next }) =>
        Effect.gen(function* () {
          const call = yield* started
          assert.notProperty(call, "silenceSeconds")
          yield* TestClock.adjust("60 seconds")
          assert.isUndefined(yield* silence(call.uniqueRequestId, 20))
          yield* next(limit(30))
          yield* reload
          assert.propertyVal(yield* statusOf(call.uniqueRequestId), "silenceSeconds", 30)
          assert.strictEqual(yield* silence(call.uniqueRequestId, 20), BEGIN + 70_000)
        }),
      ),
  )

  it.effect(
    "a reload that changes SilenceSeconds while a call runs moves the end of a call whose page learned the old one",
    () =>
      withGate(limit(30), ({ next }) =>
        Effect.gen(function* () {
          const { uniqueRequestId } = yield* started
          yield* TestClock.adjust("60 seconds")
          assert.strictEqual(yield* silence(uniqueRequestId, 15), BEGIN + 75_000)
          yield* next(limit(120))
          yield* reload
          assert.strictEqual(yield* silence(uniqueRequestId, 15), BEGIN + 165_000)
          yield* next(limit(10))
          yield* reload
          // the caller was told that the call ends later, and has five seconds all the same
          assert.strictEqual(yield* silence(uniqueRequestId, 15), BEGIN + 65_000)
        }),
      ),
  )

  it.effect(
    "a reload that removes SilenceSeconds while a call runs withdraws the warning, and no end is due any more",
    () =>
      withGate(limit(30), ({ next }) =>
        Effect.gen(function* () {
          const { uniqueRequestId } = yield* started
          yield* TestClock.adjust("60 seconds")
          yield* silence(uniqueRequestId, 15)
          assert.property(yield* statusOf(uniqueRequestId), "warning")
          yield* next(limit())
          yield* reload
          const status = yield* statusOf(uniqueRequestId)
          assert.notProperty(status, "warning")
          assert.notProperty(status, "silenceSeconds")
          assert.isUndefined(yield* silence(uniqueRequestId, 30))
        }),
      ),
  )
})
