import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { begin, caller, enqueue, gateTest, hangUp, session, stateOf, type World } from "../../support/gate.ts"

describe("a platform whose webhook uses another session id than its start", () => {
  const oneId = (world: World): void => {
    world.initiate = (n) => Effect.succeed({ ...session(n), sessionIds: [`web-${n}`] })
    world.sessionIds = (id) => [id, id.replace("web", "conversation")]
  }

  gateTest("has its slot freed by the webhook, because the history was read soon after the start", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("2 seconds")
      expect(yield* hangUp("conversation-1")).toBe(true)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      expect(yield* hangUp("web-1")).toBe(false)
    }),
  )

  gateTest("has its slot freed even if the webhook came before the history was read", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      const { uniqueRequestId } = yield* begin()
      const next = yield* enqueue(caller(2))
      expect(yield* hangUp("conversation-1")).toBe(false)
      yield* TestClock.adjust("2 seconds")
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
      expect(yield* stateOf(next)).toBe("called")
    }),
  )

  gateTest("is asked once more after a history without further ids, and then no more for a while", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      let asked = 0
      world.sessionIds = () => {
        asked++
        return []
      }
      yield* begin()
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(2)
      yield* hangUp("web-1")
      yield* begin(caller(2))
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(2)
    }),
  )

  gateTest("is covered by the audit if its history had no ids before", {}, (world) =>
    Effect.gen(function* () {
      oneId(world)
      world.sessionIds = () => []
      const { uniqueRequestId } = yield* begin()
      yield* TestClock.adjust("1 minute")
      world.sessionIds = (id) => [id, "conversation-1"]
      yield* TestClock.adjust("4 minutes")
      expect(yield* hangUp("conversation-1")).toBe(true)
      expect(yield* stateOf(uniqueRequestId)).toBe("ended")
    }),
  )

  gateTest("is not asked if the start returned both ids", {}, (world) =>
    Effect.gen(function* () {
      let asked = 0
      world.sessionIds = () => {
        asked++
        return []
      }
      yield* begin()
      yield* TestClock.adjust("10 seconds")
      expect(asked).toBe(0)
    }),
  )
})
