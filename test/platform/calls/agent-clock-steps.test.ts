/** The platform's agent, while the wall clock of its machine is set: its limits and its pauses are of time that has passed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, type Scope } from "effect"
import { Socket } from "effect/socket"
import { TestClock } from "effect/testing"
import { ECHO_DELAY_MILLIS, TEXT_BURST, TEXTS_PER_SECOND, talk } from "../../../src/platform/calls/agent.ts"
import { Conversations } from "../../../src/platform/calls/Conversations.ts"
import { withSteppedClock } from "../../support/stepped-clock.ts"

const IDLE_MILLIS = 60_000

type Sent = Uint8Array | string | Socket.CloseEvent

/** A caller of the agent: `say` sends a frame, and `heard` has what the agent has sent. */
const call = Effect.gen(function* () {
  const frames = yield* Queue.unbounded<Uint8Array | string>()
  const heard: Array<Sent> = []
  const socket = Socket.make({
    reader: Effect.succeed({
      pull: Effect.map(Queue.take(frames), (frame) => [frame] as const),
      upgrade: () => Effect.die("no TLS"),
    }),
    writer: Effect.succeed({
      write: (frame: Sent) => Effect.sync(() => void heard.push(frame)),
      writeAll: (all: Iterable<Sent>) => Effect.sync(() => void heard.push(...all)),
    }),
  })
  const talking = yield* Effect.forkChild(talk(socket, "conversation", IDLE_MILLIS))
  const said = (frame: Uint8Array | string) => Effect.andThen(Queue.offer(frames, frame), TestClock.adjust(0))
  yield* TestClock.adjust(0)
  const isOver = Effect.sync(() => talking.pollUnsafe() !== undefined)
  return { say: said, heard, isOver, hangUp: Fiber.interrupt(talking) }
})

const eachStep = (
  name: string,
  body: (step: Effect.Effect<void>) => Effect.Effect<void, unknown, Conversations | Scope.Scope>,
): void => {
  for (const [way, millis] of [
    ["set back 10 minutes", -10 * 60_000],
    ["set ahead 2 hours", 2 * 3_600_000],
  ] as const) {
    it.effect(`${name}, when the clock is ${way}`, () =>
      withSteppedClock((step) =>
        body(Effect.sync(() => step(millis))).pipe(
          Effect.scoped,
          Effect.provide(Layer.mock(Conversations, { addTurns: () => Effect.void })),
        ),
      ),
    )
  }
}

describe("the agent", () => {
  eachStep("takes a caller's texts at the same rate", (step) =>
    Effect.gen(function* () {
      const { heard, isOver, say } = yield* call
      for (let n = 0; n < TEXT_BURST; n++) yield* say("hello")
      yield* step
      yield* TestClock.adjust(1_000)
      for (let n = 0; n < TEXTS_PER_SECOND; n++) yield* say("hello")
      assert.isFalse(yield* isOver)
      yield* say("one more")
      assert.isTrue(yield* isOver)
      const last = heard.at(-1)
      assert.strictEqual(Socket.isCloseEvent(last) ? last.code : last, 1008)
    }),
  )

  eachStep("echoes after a second", (step) =>
    Effect.gen(function* () {
      const { heard, say } = yield* call
      const before = heard.length
      yield* say(new Uint8Array([1, 2]))
      yield* step
      yield* TestClock.adjust(ECHO_DELAY_MILLIS - 1)
      assert.lengthOf(heard, before)
      yield* TestClock.adjust(1)
      assert.lengthOf(heard, before + 1)
    }),
  )

  eachStep("hangs up after the idle time", (step) =>
    Effect.gen(function* () {
      const { isOver } = yield* call
      yield* TestClock.adjust(IDLE_MILLIS / 2)
      yield* step
      yield* TestClock.adjust(IDLE_MILLIS / 2 - 1_000)
      assert.isFalse(yield* isOver)
      yield* TestClock.adjust(2_000)
      assert.isTrue(yield* isOver)
    }),
  )
})
