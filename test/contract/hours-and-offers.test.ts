/**
 * The close of a campaign, and what it offers, at gates that share a store and die one after the other: in memory, on Redis, and on a Redis
 * Cluster, where the quota of callers and the queue are on different servers. The close is some minutes away, and the time is the test's.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { offerTaken } from "../../src/gatekeeper/metrics.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { Store } from "../../src/store/Store.ts"
import { onSharedStores } from "../harness/stores.ts"
import { type DyingPath, startDyingGate, untilAnswered } from "../support/dying-gates.ts"
import { ask, caller, eventsOf, type Given, hangUp, makeWorld, session, start, ticketIn } from "../support/gate.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** How many gates there are, one after the other. */
const GATES = 5

const CALL = { kind: "number", label: "Call us", target: "tel:+4930123456" }
const SALES = { kind: "campaign", label: "Ask sales", target: "sales" }

/** The close of the default campaign at a minute's end, two minutes ahead or three, in a zone in which it is about noon; `night` has a holiday. */
const closingSoon = (now: number): { readonly given: Given; readonly closesAt: number; readonly opensAt: string } => {
  const ahead = 12 - new Date(now).getUTCHours()
  const closesAt = Math.floor(now / MINUTE) * MINUTE + 3 * MINUTE
  const there = new Date(closesAt + ahead * HOUR)
  const [date = "", time = ""] = there.toISOString().split("T")
  return {
    closesAt,
    opensAt: new Date(Date.parse(`${date}T00:00Z`) + DAY - ahead * HOUR).toISOString(),
    given: {
      VoiceAiPlatform: {
        MaxConcurrency: 1,
        Hours: {
          Zone: ahead === 0 ? "Etc/GMT" : `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`,
          Open: `Daily 00:00-${time.slice(0, 5)}`,
          AfterCloseMinutes: 1,
        },
        Overflow: {
          AfterSeconds: 30,
          Offers: ["Call us tel:+4930123456", "Ask sales campaign:sales", "Ask the others campaign:night"],
        },
        Events: { Token: ["a-token-of-16-characters"] },
        Campaigns: {
          sales: { WebCampaignId: "sales", MaxConcurrency: 9, Hours: { Open: "always" } },
          night: { WebCampaignId: "night", MaxConcurrency: 9, Hours: { Open: "always", Closed: date } },
        },
      },
      Security: { RateLimitHourly: 2, RateLimitConcurrency: 0 },
    },
  }
}

const stateIn = (ticket: string) => Gatekeeper.use((gate) => gate.status(ticket))
const leaveFor = (ticket: string) => Gatekeeper.use((gate) => gate.leave(ticket, "number"))
const endsOf = Operator.use((operator) =>
  Effect.map(operator.deliveries(undefined, "all", 0, 50), (page) =>
    (page?.rows ?? []).flatMap(({ event }) => (event.type === "call.ended" ? [String(event.reason)] : [])),
  ),
)
const countOf = (counter: ReturnType<typeof offerTaken>) => Effect.map(Metric.value(counter), ({ count }) => count)

describe("the close of a campaign, over gates that die", () => {
  onSharedStores((makeStore, name) => {
    it.effect(`ends each wait once, gives its quota back, and what is offered is told by every gate: ${name}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(Date.now())
        const shared = yield* makeStore
        // a connection keeps the difference to the server's clock that it has measured at first, so all are made before the time passes
        const stores = yield* Effect.replicateEffect(Layer.build(shared.connect()), GATES + 1)
        const [store, ...connections] = stores.map((built) => Context.get(built, Store))
        if (store === undefined) return assert.fail("there is a connection")
        const { closesAt, given, opensAt } = closingSoon(yield* store.now)
        const paths: Array<DyingPath> = []
        let calls = 0
        const gate = Effect.gen(function* () {
          const world = makeWorld()
          world.initiate = () => Effect.sync(() => session(++calls))
          const connection = connections.pop() ?? store
          const started = yield* startDyingGate(world, () => Layer.succeed(Store, connection), given)
          paths.push(started.path)
          const connect = (ticket: string) =>
            Effect.tap(
              started.on(Gatekeeper.use((gatekeeper) => gatekeeper.attach(ticket))),
              Effect.sync(() => world.connected.add(ticket)),
            )
          const pushed = (ticket: string, type: string) =>
            eventsOf(world, ticket).filter((event) => event.type === type)
          return { ...started, world, connect, pushed }
        })
        const quiet = untilAnswered(() => paths)
        const pass = (seconds: number) =>
          Effect.replicateEffect(Effect.andThen(TestClock.adjust("1 second"), quiet), seconds, { discard: true })
        const until = (time: number) =>
          Effect.flatMap(store.now, (now) => pass(Math.max(0, Math.ceil((time - now) / 1000))))

        const [a, b] = [yield* gate, yield* gate]
        expect(yield* a.on(ask(caller(1)))).toMatchObject({ _tag: "Started", sessionId: "web-1" })
        const [first, second, third] = [
          ticketIn(yield* a.on(ask(caller(2)))),
          ticketIn(yield* b.on(ask(caller(3)))),
          ticketIn(yield* b.on(ask(caller(4)))),
        ]
        yield* a.connect(first)
        for (const ticket of [second, third]) yield* b.connect(ticket)

        // offers: after half a minute of waiting, once to each page, and by each gate that is asked; nothing that is closed
        yield* pass(28)
        for (const each of [a, b]) assert.notProperty(yield* each.on(stateIn(second)), "offers")
        assert.deepStrictEqual(
          [...a.world.pushed, ...b.world.pushed].filter(([, { type }]) => type === "offer"),
          [],
        )
        yield* pass(6)
        const offer = { type: "offer", offers: [CALL, SALES] }
        expect([a.pushed(first, "offer"), b.pushed(second, "offer"), b.pushed(third, "offer")]).toEqual([
          [offer],
          [offer],
          [offer],
        ])
        for (const each of [a, b]) {
          expect(yield* each.on(stateIn(second))).toMatchObject({ state: "waiting", offers: [CALL, SALES] })
        }
        expect(yield* a.on(ask(caller(5), { campaignId: "night" }))).toMatchObject({
          ...{ _tag: "Closed", opensAt, offers: [CALL, SALES] },
        })

        // a gate dies; its pages connect to the other one, which tells them too when it is dead for sure; one of them takes what is offered
        b.path.kill()
        for (const ticket of [second, third]) yield* a.connect(ticket)
        yield* pass(55)
        expect(b.path.isDead()).toBe(true)
        expect(a.pushed(second, "offer")).toEqual([offer])
        const taken = yield* countOf(offerTaken("default", "number"))
        for (const _ of [1, 2]) yield* a.on(leaveFor(third))
        a.world.connected.delete(third)
        expect((yield* countOf(offerTaken("default", "number"))) - taken).toBe(1)

        // the close: nobody new is let in, and those who wait are served for a minute
        const c = yield* gate
        yield* until(closesAt + 1_000)
        for (const each of [a, c]) {
          expect(yield* each.on(ask(caller(6)))).toMatchObject({ _tag: "Closed", opensAt, offers: [CALL, SALES] })
          expect(yield* each.on(stateIn(second))).toMatchObject({ state: "waiting" })
        }
        yield* pass(20)
        expect(yield* c.on(hangUp("web-1"))).toBe(true)
        yield* pass(2)
        expect(yield* c.on(start(first))).toMatchObject({ _tag: "Started", sessionId: "web-2" })

        // the gate that ends the last wait dies with that step, which is carried out; two others do what it has left
        c.path.kill()
        a.path.killAfter((rule, answer) => rule === "queue.sweep" && JSON.stringify(answer).includes('"refund"'))
        yield* until(closesAt + MINUTE - 3_000)
        expect(yield* a.on(stateIn(second))).toMatchObject({ state: "waiting" })
        yield* until(closesAt + MINUTE + 12_000)
        expect([a.path.isDead(), c.path.isDead()]).toEqual([true, true])
        expect(a.pushed(second, "ended")).toEqual([])
        const [d, e] = [yield* gate, yield* gate]
        expect(yield* d.connect(second)).toMatchObject({ type: "ended", reason: "closed" })
        yield* pass(45)
        for (const each of [d, e]) expect(yield* each.on(stateIn(second))).toMatchObject({ state: "closed" })
        expect((yield* e.on(endsOf)).toSorted()).toEqual(["closed", "ended", "left"])

        // the wait that was ended does not count any more; the call that was had does, and the wait that was left
        const other = { campaignId: "sales" }
        for (const [n, left] of [
          [2, 1],
          [3, 2],
          [4, 1],
        ] as const) {
          const tags: Array<string> = []
          for (let asked = 0; asked < 3; asked++)
            tags.push((yield* (asked % 2 === 0 ? d : e).on(ask(caller(n), other)))._tag)
          expect(
            tags.filter((tag) => tag === "Started"),
            `caller ${n}`,
          ).toHaveLength(left)
          expect(tags.at(-1)).toBe("RateLimited")
        }
      }).pipe(Effect.scoped),
    )
  })
})
