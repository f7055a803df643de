/** What the gatekeeper before a reload and the one after it share while the first finishes. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { load, PROVIDER, reload, request, withGate } from "./support.ts"

const provider = (key: string) => ({ Provider: "ipapi.is", BaseUrl: PROVIDER, ApiKey: key, TimeoutMillis: 3_000 })

describe("generations", () => {
  it.effect("finish a lookup that began two reloads ago", () =>
    withGate(load({}, 1, {}, provider("provider-key-1")), ({ lookups, next }) =>
      Effect.gen(function* () {
        lookups.millis = 1_000
        const call = Gatekeeper.use((gatekeeper) => gatekeeper.request({}, { address: "81.2.69.1" }))
        const blocked = yield* Effect.forkChild(Effect.flip(call), { startImmediately: true })
        yield* TestClock.adjust("10 millis")
        yield* next(load({}, 2, {}, provider("provider-key-1")))
        yield* reload
        yield* TestClock.adjust("10 millis")
        yield* next(load({}, 2, {}, provider("provider-key-2")))
        yield* reload
        yield* TestClock.adjust("500 millis")
        assert.isUndefined(blocked.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const exit = blocked.pollUnsafe()
        assert.strictEqual(exit?._tag === "Success" ? exit.value._tag : "", "Blocked")
      }),
    ),
  )

  it.effect("leave memory once they have finished", () =>
    withGate(load(), ({ next, starts }) =>
      Effect.gen(function* () {
        const old: Array<WeakRef<object>> = []
        for (const slots of [2, 3, 4]) {
          old.push(new WeakRef(yield* Gatekeeper.useSync(({ internals }) => internals())))
          // a request that succeeds or waits, one that fails, and one that is interrupted during its start
          yield* request(slots)
          yield* Effect.flip(
            Gatekeeper.use((gatekeeper) => gatekeeper.request({ regionId: 7 }, { address: "81.2.69.1" })),
          )
          starts.millis = 100
          const interrupted = yield* Effect.forkChild(request(slots + 10), { startImmediately: true })
          yield* Effect.forkChild(Fiber.interrupt(interrupted), { startImmediately: true })
          yield* TestClock.adjust("1 second")
          starts.millis = 0
          yield* next(load({}, slots))
          yield* reload
          yield* TestClock.adjust("1 minute")
        }
        // weak references hold until the end of a task
        yield* Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))
        setFlagsFromString("--expose-gc")
        runInNewContext("gc")()
        assert.deepStrictEqual(
          old.map((reference) => reference.deref() === undefined),
          [true, true, true],
        )
      }),
    ),
  )

  it.effect("report what they count for the console once, also when both send a heartbeat", () => {
    const withConsole = (slots: number) => load({}, slots, { ConsoleToken: "console-token-0123456789" })
    return withGate(withConsole(1), ({ heartbeats, next }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("500 millis")
        yield* request(1)
        heartbeats.millis = 200
        yield* TestClock.adjust("1600 millis")
        yield* next(withConsole(2))
        yield* reload
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(heartbeats.started, 1)
      }),
    )
  })
})
