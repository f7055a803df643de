/** Vendors that list their sessions by ids of their own: which slots an unreported end frees, and which not. */

import { assert, describe } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { makeFakeAssemblyAI } from "../../../src/platform-api/assemblyai/fake.ts"
import { makeFakeCartesia } from "../../../src/platform-api/cartesia/fake.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import { BEGIN } from "../../support/gate.ts"
import { ask, initiate, joined, stateOf, subjectOf, vendorTest } from "../adapters/rig.ts"

const assemblyai = subjectOf("assemblyai", makeFakeAssemblyAI)
const cartesia = subjectOf("cartesia", makeFakeCartesia)
const SLOTS = { MaxConcurrency: 2 }
const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

describe("an end that nobody has reported", () => {
  vendorTest(
    "frees no slot at AssemblyAI while another session that began at the same time runs, and both afterwards",
    assemblyai,
    (world) =>
      Effect.gen(function* () {
        const [first, second] = [yield* ask(1), yield* ask(2)]
        const [gone, stays] = [yield* joined(world, first), yield* joined(world, second)]
        world.fake.hangUp(gone)
        yield* world.pass(5)
        assert.strictEqual(yield* stateOf(first.uniqueRequestId), "live")
        world.fake.hangUp(stays)
        yield* world.pass(2)
        assert.strictEqual(yield* stateOf(first.uniqueRequestId), "ended")
        assert.strictEqual(yield* stateOf(second.uniqueRequestId), "ended")
      }),
    SLOTS,
  )

  vendorTest(
    "frees its slot at AssemblyAI although a session that began later runs",
    assemblyai,
    (world) =>
      Effect.gen(function* () {
        const first = yield* ask(1)
        const gone = yield* joined(world, first)
        yield* world.pass(2.5)
        const second = yield* ask(2)
        yield* joined(world, second)
        world.fake.hangUp(gone)
        yield* world.pass(2)
        assert.strictEqual(yield* stateOf(first.uniqueRequestId), "ended")
        assert.strictEqual(yield* stateOf(second.uniqueRequestId), "live")
      }),
    SLOTS,
  )

  vendorTest(
    "frees its slot at Cartesia, which knows the call by its stream, whatever else runs",
    cartesia,
    (world) =>
      Effect.gen(function* () {
        const [first, second] = [yield* ask(1), yield* ask(2)]
        const gone = yield* joined(world, first)
        yield* joined(world, second)
        world.fake.hangUp(gone)
        yield* world.pass(5)
        assert.strictEqual(yield* stateOf(first.uniqueRequestId), "ended")
        assert.strictEqual(yield* stateOf(second.uniqueRequestId), "live")
      }),
    SLOTS,
  )

  const began = iso(BEGIN + 1_000)
  for (const [name, body] of [
    [
      "lists the oldest first",
      [
        { status: "completed", created_at: began },
        { status: "completed", created_at: iso(BEGIN + 2_000) },
      ],
    ],
    ["has a session without a time", [{ status: "active" }]],
    ["has a state that the gate does not know", [{ status: "paused", created_at: began }]],
  ] as const)
    vendorTest(`is not concluded from a list of AssemblyAI that ${name}`, assemblyai, (world) =>
      Effect.gen(function* () {
        const { sessionIds } = yield* initiate()
        yield* world.pass(2)
        world.fake.failNext({ status: 200, body: { sessions: body, has_more: false } })
        const { status } = yield* PlatformApi.use((api) => api.sessionStatus("default", sessionIds[0] ?? ""))
        assert.notStrictEqual(status, "over")
      }),
    )

  vendorTest("is not concluded where the key may not read the list", assemblyai, (world) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* ask(1)
      world.refuse(/sessions$/)
      yield* world.pass(6)
      assert.strictEqual(yield* stateOf(uniqueRequestId), "live")
    }),
  )
})

describe("Cartesia's webhook about the end of a call", () => {
  for (const [name, body] of [
    ["has the call's details", (id: string) => ({ type: "call_completed", call: { id, agent_id: "agent_fake" } })],
    [
      "names the stream beside an id of its own",
      (id: string) => ({ type: "call_failed", call: { id: "ac_1", stream_id: id } }),
    ],
    [
      "names the request, as before",
      (id: string) => ({ type: "call_completed", request_id: id, agent_id: "agent_fake" }),
    ],
  ] as const)
    vendorTest(`frees the slot when it ${name}`, cartesia, (world) =>
      Effect.gen(function* () {
        const { sessionId } = yield* ask(1)
        const outcome = yield* Gatekeeper.use((gate) =>
          gate.vendorWebhook("cartesia", world.fake.webhook(body(sessionId))),
        )
        assert.deepStrictEqual(outcome, { _tag: "accepted", released: true })
      }),
    )

  vendorTest("frees nothing for a call of another agent", cartesia, (world) =>
    Effect.gen(function* () {
      const { sessionId } = yield* ask(1)
      const body = { type: "call_completed", call: { id: sessionId, agent_id: "agent_other" } }
      const outcome = yield* Gatekeeper.use((gate) => gate.vendorWebhook("cartesia", world.fake.webhook(body)))
      assert.deepStrictEqual(outcome, { _tag: "accepted", released: false, because: "other_session" })
    }),
  )
})
