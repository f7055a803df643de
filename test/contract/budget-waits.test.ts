/**
 * Callers who wait for a budget (`OnLimit: wait`) of the campaign, the account or their own, at two gates of a store: in memory, on Redis, and on a Redis
 * Cluster, where the books of callers and of the campaign are on different servers. One of the gates dies meanwhile.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { onSharedStores, type SharedStore } from "../harness/stores.ts"
import { startDyingGate } from "../support/dying-gates.ts"
import { ask, caller, hangUp, makeWorld, start, ticketIn, type World } from "../support/gate.ts"

const SPENDERS = ["campaign", "account", "caller"] as const

/** A zone in which it is about noon, so that no day begins during the test. */
const noonZone = (): string => {
  const hours = 12 - new Date().getUTCHours()
  return `${hours < 0 ? "-" : "+"}${String(Math.abs(hours)).padStart(2, "0")}:00`
}

const givenOf = (Of: (typeof SPENDERS)[number]) => ({
  VoiceAiPlatform: {
    MaxConcurrency: 3,
    Account: { Name: "account", MaxConcurrency: 3 },
    Budget: { WaitMinutes: 1440, Zone: noonZone() },
    Budgets: [{ Name: "budget", Of, Unit: "minutes", Per: "day", Cap: 1, OnLimit: "wait" }],
  },
})

const gate = Effect.fnUntraced(function* (world: World, { connect }: SharedStore, of: (typeof SPENDERS)[number]) {
  const { on, path } = yield* startDyingGate(world, connect, givenOf(of))
  const status = (ticket: string) => on(Gatekeeper.use((gatekeeper) => gatekeeper.status(ticket)))
  return {
    call: (n: number) => on(ask(caller(n))),
    start: (ticket: string) => on(start(ticket)),
    hangUp: (session: string) => on(hangUp(session)),
    adjust: (...order: Parameters<Operator["Service"]["adjustBudget"]>) =>
      on(Operator.use((operator) => operator.adjustBudget(...order))),
    status,
    stateOf: (ticket: string) => Effect.map(status(ticket), ({ state }) => state),
    kill: path.kill,
  }
})

describe("waiting for a budget", () => {
  onSharedStores((makeStore, name) => {
    it.live.each(SPENDERS)(
      `of the %s, ${name}`,
      (of) =>
        Effect.gen(function* () {
          const store = yield* makeStore
          const world = makeWorld()
          const [a, b] = [yield* gate(world, store, of), yield* gate(world, store, of)]
          /** Asks as a page does that polls, until it is this caller's turn. */
          const isCalled = (at: typeof a, ticket: string) =>
            Effect.repeat(at.stateOf(ticket), {
              until: (state) => state === "called",
              schedule: Schedule.spaced("100 millis"),
            }).pipe(Effect.timeout("15 seconds"))

          // it holds the only minute
          expect(yield* a.call(1)).toMatchObject({ _tag: "Started" })
          const second = yield* b.call(1)
          expect(second).toMatchObject({ _tag: "Queued", queuePosition: 1, paused: true })
          const ticket = ticketIn(second)
          for (const each of [a, b]) {
            const found = yield* each.status(ticket)
            expect(found).toMatchObject({ state: "waiting", queuePosition: 1, paused: true })
            expect(found).toHaveProperty("resumesAt")
          }
          // others wait for a shared budget, and start beside one who waits for his own
          const other = yield* a.call(2)
          expect(other).toMatchObject(
            of === "caller" ? { _tag: "Started" } : { _tag: "Queued", queuePosition: 2, paused: true },
          )

          // an operator adds a minute at one gate, and the caller starts at the other one
          const order = { budget: "budget", by: 1, id: "top-up", reason: "more" }
          const whose = of === "caller" ? { caller: caller(1) } : {}
          expect(yield* b.adjust(undefined, "op", { ...order, ...whose })).toMatchObject({ made: true })
          yield* isCalled(a, ticket)
          expect(yield* a.start(ticket)).toMatchObject({ _tag: "Started" })

          // the gate dies at which the next one came; his turn comes at the other one, when a call gives back what it held
          const third = yield* a.call(1)
          expect(third).toMatchObject({ _tag: "Queued", paused: true })
          a.kill()
          expect(yield* b.hangUp("web-1")).toBe(true)
          const next = of === "caller" ? ticketIn(third) : ticketIn(other)
          yield* isCalled(b, next)
          expect(yield* b.start(next)).toMatchObject({ _tag: "Started" })
        }).pipe(Effect.scoped),
      60_000,
    )
  })
})
