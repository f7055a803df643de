/** Gates on one store know a caller by a signed token alike, also when one of them dies: in memory, on Redis, and on a Redis Cluster. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { Operator } from "../../src/operator/Operator.ts"
import { onSharedStores, type SharedStore } from "../harness/stores.ts"
import { startDyingGate } from "../support/dying-gates.ts"
import { ask, caller, type Given, makeWorld, ticketIn } from "../support/gate.ts"
import { claimsOf, SECRET, token } from "../support/tokens.ts"

const tokenOf = (sub: string, more: Readonly<Record<string, unknown>> = {}): string =>
  token(claimsOf(sub, more, Math.floor(Date.now() / 1000) * 1000))

const gate = Effect.fnUntraced(function* ({ connect }: SharedStore, given: Given) {
  const { on, path } = yield* startDyingGate(makeWorld(), connect, given)
  return {
    path,
    ask: (identity: string, n = 1) => on(ask(caller(n), { identity })),
    leave: (ticket: string) => on(Gatekeeper.use((gatekeeper) => gatekeeper.leave(ticket))),
    waiting: on(
      Operator.use((operator) =>
        Effect.map(
          operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0),
          (view) => view?.queue?.waiting,
        ),
      ),
    ),
  }
})

const two = (store: SharedStore, given: Given) => Effect.all([gate(store, given), gate(store, given)])

/** The steps of a request with a token that is used once, in this order. On a Cluster the limit of a caller is not where the queue is. */
const stepsOf = ({ servers }: SharedStore): ReadonlyArray<string> =>
  servers.length > 1 ? ["identity.use", "limits.take", "queue.admit"] : ["identity.use", "takeAndAdmit"]

const tags = (outcomes: ReadonlyArray<{ readonly _tag: string }>) => outcomes.map(({ _tag }) => _tag)

onSharedStores((makeStore, name) => {
  describe(`gates ${name}`, () => {
    it.live("hold a subject's limit over all its addresses, and two subjects at one address do not share one", () =>
      Effect.gen(function* () {
        const Identity = { Secrets: [SECRET] }
        const [one, other] = yield* two(yield* makeStore, { Identity, Security: { RateLimitHourly: 3 } })
        const asked = yield* Effect.all(
          Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? one : other).ask(tokenOf("ada"), n)),
          { concurrency: "unbounded" },
        )
        assert.lengthOf(
          asked.filter(({ _tag }) => _tag !== "RateLimited"),
          3,
          String(tags(asked)),
        )
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(tokenOf("bob"), 1))._tag, "Queued")
        const five = tokenOf("ada", { voicegate: { limits: { hour: 5 } } })
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(five, 1))._tag, "Queued")
        for (const gate of [one, other]) assert.strictEqual((yield* gate.ask(five, 1))._tag, "RateLimited")
      }).pipe(Effect.scoped),
    )

    it.live("use a token once: whoever asks with it meanwhile gets its ticket, and later nobody", () =>
      Effect.gen(function* () {
        const Identity = { Secrets: [SECRET], SingleUse: true }
        const [one, other] = yield* two(yield* makeStore, { Identity })
        yield* one.ask(tokenOf("first", { jti: "0" }))
        // a time may have a fraction, and Redis takes no lifetime with one
        const given = tokenOf("ada", { jti: "1", exp: Math.floor(Date.now() / 1000) + 300.5 })
        const asked = yield* Effect.all(
          Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? one : other).ask(given, n)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual([...new Set(tags(asked))], ["Queued"])
        const [ticket = "", ...more] = [...new Set(asked.map(ticketIn))]
        assert.deepStrictEqual(more, [])
        yield* other.leave(ticket)
        yield* Effect.sleep("3 seconds")
        for (const gate of [one, other]) {
          const replayed = yield* gate.ask(given)
          assert.strictEqual("reason" in replayed ? replayed.reason : replayed._tag, "replayed")
        }
      }).pipe(Effect.scoped),
    )

    it.live("use a token for one ticket, although the gate of the request dies at any of its steps", () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const given = { Identity: { Secrets: [SECRET], SingleUse: true } }
        const [one, other] = yield* two(store, given)
        yield* one.ask(tokenOf("first", { jti: "0" }))
        const deaths = stepsOf(store).flatMap((step) => [true, false].map((arrives) => ({ step, arrives })))
        const tokens = yield* Effect.forEach(deaths, ({ arrives, step }, n) =>
          Effect.gen(function* () {
            const dying = yield* gate(store, given)
            dying.path.kill(arrives, (rule) => rule === step)
            const token = tokenOf(`caller ${n}`, { jti: "1" })
            yield* Effect.forkDetach(dying.ask(token, n))
            while (!dying.path.isDead() || dying.path.inFlight() > 0) yield* Effect.sleep("10 millis")
            return token
          }),
        )
        const tickets = yield* Effect.forEach(
          tokens,
          (token, n) =>
            Effect.gen(function* () {
              const answers = yield* Effect.all([one.ask(token, n), other.ask(token, n)], { concurrency: "unbounded" })
              const [ticket = "", ...more] = [...new Set(answers.map(ticketIn))]
              assert.deepStrictEqual([tags(answers), more], [["Queued", "Queued"], []], JSON.stringify(deaths[n]))
              return ticket
            }),
          { concurrency: "unbounded" },
        )
        assert.strictEqual(new Set(tickets).size, deaths.length)
        assert.strictEqual(yield* other.waiting, deaths.length)
      }).pipe(Effect.scoped),
    )
  })
})
