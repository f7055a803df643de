/** Callers with one address share one lookup. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { settle, start, vpn, vpnBody } from "./support.ts"

describe("one lookup at a time", () => {
  it.effect("makes one lookup for many callers with one address", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => vpnBody })
      const facts = yield* Effect.all(
        Array.from({ length: 50 }, () => ip.lookup("8.8.8.8")),
        { concurrency: "unbounded" },
      )
      expect(facts).toEqual(Array.from({ length: 50 }, () => vpn))
      expect(ip.http.requests).toHaveLength(1)
      yield* Effect.all([ip.lookup("9.9.9.9"), ip.lookup("1.1.1.1")], { concurrency: 2 })
      expect(ip.http.requests).toHaveLength(3)
    }),
  )

  it.effect("continues for the others when the caller who started it disconnects", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => "never" })
      const first = yield* Effect.forkChild(ip.lookup("8.8.8.8"))
      yield* settle
      const second = yield* Effect.forkChild(Effect.flip(ip.lookup("8.8.8.8")))
      yield* settle
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust(2_000)
      expect((yield* Fiber.join(second)).reason).toBe("timeout")
      expect(ip.http.requests).toHaveLength(1)
    }),
  )

  it.effect("reports one failure to all waiting callers, and starts a new lookup afterwards", () =>
    Effect.gen(function* () {
      const ip = yield* start({ answer: () => "refused" })
      const errors = yield* Effect.all([Effect.flip(ip.lookup("8.8.8.8")), Effect.flip(ip.lookup("8.8.8.8"))], {
        concurrency: 2,
      })
      expect(errors.map(({ reason }) => reason)).toEqual(["unreachable", "unreachable"])
      expect(ip.http.requests).toHaveLength(1)
      ip.http.answer = () => vpnBody
      expect(yield* ip.lookup("8.8.8.8")).toEqual(vpn)
    }),
  )

  it.effect("interrupts lookups in flight when the service stops", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const ip = yield* start({ answer: () => "never" }).pipe(Scope.provide(scope))
      const waiting = yield* Effect.forkChild(ip.lookup("8.8.8.8"))
      yield* settle
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(waiting)
      expect(Exit.hasInterrupts(exit)).toBe(true)
    }),
  )
})
