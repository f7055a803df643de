/** A token with `Identity.SingleUse`: it leads to one ticket, which answers it again, and afterwards it is refused. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { MOST_WAIT_MILLIS } from "../../../src/gatekeeper/checks/Identify.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import { Store } from "../../../src/store/Store.ts"
import { startDyingGate } from "../../support/dying-gates.ts"
import { BEGIN, begin, caller, gateTest, hangUp, makeWorld, session, ticketIn } from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"
import { askBy, claimsOf, SECRET, token, tokenOf } from "../../support/tokens.ts"

const away = new StoreUnavailable({ message: "The shared store cannot be reached." })

describe("a token that is used once", () => {
  const once = { Identity: { Secrets: [SECRET], SingleUse: true }, Security: { RateLimitHourly: 3 } }

  gateTest("answers its ticket again while that lives, and is refused afterwards", once, (world) =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const given = tokenOf("ada", { jti: "1" })
      const session = yield* begin(caller(1), { identity: given })
      expect(yield* askBy(given, caller(2))).toMatchObject({ _tag: "Started", sessionId: session.sessionId })
      const waiting = tokenOf("ada", { jti: "2" })
      const ticket = ticketIn(yield* askBy(waiting))
      for (const _ of [1, 2, 3, 4]) assert.strictEqual(ticketIn(yield* askBy(waiting)), ticket)
      assert.strictEqual(world.initiated.length, 1)
      yield* gate.leave(ticket)
      yield* TestClock.adjust("4 seconds")
      expect(yield* askBy(waiting)).toMatchObject({ _tag: "IdentityRefused", reason: "replayed" })
      yield* hangUp("web-1")
      expect(yield* askBy(given)).toMatchObject({ _tag: "IdentityRefused", reason: "replayed" })
      assert.strictEqual(world.lookedUp.length, 2)
    }),
  )

  gateTest("needs an id, which names it among those of its subject alone", once, () =>
    Effect.gen(function* () {
      expect(yield* askBy(tokenOf("ada"))).toMatchObject({ _tag: "IdentityRefused", reason: "malformed" })
      const first = ticketIn(yield* askBy(tokenOf("ada", { jti: "1" })))
      const other = ticketIn(yield* askBy(tokenOf("bob", { jti: "1" })))
      assert.notStrictEqual(first, other)
    }),
  )

  gateTest(
    "is refused by another campaign than that of its ticket, whose place is kept",
    { ...once, VoiceAiPlatform: { Campaigns: { sales: { WebCampaignId: "sales", MaxConcurrency: 1 } } } },
    () =>
      Effect.gen(function* () {
        yield* begin()
        const given = tokenOf("ada", { jti: "1" })
        const ticket = ticketIn(yield* askBy(given))
        expect(yield* askBy(given, caller(1), { campaignId: "sales" })).toMatchObject({
          _tag: "IdentityRefused",
          reason: "replayed",
        })
        assert.strictEqual(ticketIn(yield* askBy(given)), ticket)
      }),
  )

  gateTest("is not used by a request that is refused", once, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed({ ...noFacts, vpn: true })
      const given = tokenOf("ada", { jti: "1" })
      expect((yield* askBy(given))._tag).toBe("Blocked")
      world.lookup = () => Effect.succeed(noFacts)
      expect((yield* askBy(given))._tag).toBe("Started")
    }),
  )

  gateTest("gives one ticket to requests that come at the same moment", once, (world) =>
    Effect.gen(function* () {
      // another caller has the slot
      yield* begin(caller(9), { identity: tokenOf("other", { jti: "0" }) })
      world.lookup = () => Effect.delay(Effect.succeed(noFacts), "1 second")
      const given = tokenOf("ada", { jti: "1" })
      const asked = yield* Effect.forkChild(
        Effect.all(
          [1, 2, 3].map((n) => askBy(given, caller(n))),
          { concurrency: "unbounded" },
        ),
      )
      // a signature is checked outside of the test's time
      while (asked.pollUnsafe() === undefined) {
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
        yield* TestClock.adjust("100 millis")
      }
      const tickets = (yield* Fiber.join(asked)).map(ticketIn)
      assert.strictEqual(new Set(tickets).size, 1)
      assert.notStrictEqual(tickets[0], "")
    }),
  )

  gateTest("stays used when its caller has gone while the session starts", once, (world) =>
    Effect.gen(function* () {
      world.initiate = (n) => Effect.delay(Effect.succeed(session(n)), "1 second")
      const given = tokenOf("ada", { jti: "1" })
      const asked = yield* Effect.forkChild(askBy(given))
      while (world.initiated.length === 0) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      const gone = yield* Effect.forkChild(Fiber.interrupt(asked))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(gone)
      expect(yield* askBy(given)).toMatchObject({ _tag: "Started", sessionId: "web-1" })
      assert.strictEqual(world.initiated.length, 1)
    }),
  )

  gateTest("is not used when its caller has gone while the address is looked up", once, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.never
      const given = tokenOf("ada", { jti: "1" })
      const asked = yield* Effect.forkChild(askBy(given))
      while (world.lookedUp.length === 0) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      yield* Fiber.interrupt(asked)
      world.lookup = () => Effect.succeed(noFacts)
      expect((yield* askBy(given))._tag).toBe("Started")
    }),
  )

  it.effect("is used again when its gate has died before its ticket was admitted, by one ticket, and later not", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const store = yield* makeStore
      const held: Array<Effect.Effect<unknown, unknown>> = []
      // the command is under way when the gate dies, and arrives later; nothing is undone
      const dying: Store["Service"] = {
        ...store,
        run: (rule, asked) => {
          if (rule.name === "identity.unuse") return Effect.fail(away)
          if (rule.name !== "takeAndAdmit") return store.run(rule, asked)
          held.push(store.run(rule, asked))
          return Effect.fail(away)
        },
      }
      const [one, two, three] = yield* Effect.all([
        startGate(makeWorld(), dying, once),
        startGate(makeWorld(), store, once),
        startGate(makeWorld(), store, once),
      ])
      const given = tokenOf("ada", { jti: "1" })
      yield* two.on(begin(caller(9), { identity: tokenOf("other", { jti: "0" }) }))
      expect((yield* one.on(askBy(given)))._tag).toBe("StoreUnavailable")
      yield* one.stop
      assert.strictEqual(held.length, 1)
      yield* TestClock.adjust("2 minutes")
      const again = yield* Effect.all([two.on(askBy(given)), three.on(askBy(given))], { concurrency: "unbounded" })
      assert.deepStrictEqual(
        again.map(({ _tag }) => _tag),
        ["Queued", "Queued"],
      )
      const ticket = ticketIn(again[0])
      assert.strictEqual(ticketIn(again[1]), ticket)
      yield* TestClock.adjust("1 second")
      yield* held[0] ?? Effect.void
      const waits = yield* two.on(
        Operator.use((operator) => operator.view("default", { firstSlot: 0, slots: 9, firstPlace: 0, places: 9 }, 0)),
      )
      assert.strictEqual(waits?.queue?.waiting, 1)
      yield* two.on(Gatekeeper.use((gate) => gate.leave(ticket)))
      yield* TestClock.adjust("5 seconds")
      expect(yield* three.on(askBy(given))).toMatchObject({ _tag: "IdentityRefused", reason: "replayed" })
    }).pipe(Effect.scoped),
  )

  it.effect("whose gate has died answers all who wait for its ticket, however long the next one takes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const store = yield* makeStore
      let isSlow = false
      const slow: Store["Service"] = {
        ...store,
        run: (rule, asked) =>
          isSlow && rule.name === "takeAndAdmit"
            ? Effect.delay(store.run(rule, asked), "500 millis")
            : store.run(rule, asked),
      }
      const start = (path: Store["Service"]) => startDyingGate(makeWorld(), () => Layer.succeed(Store, path), once)
      const [one, two, three] = yield* Effect.all([start(store), start(slow), start(slow)])
      yield* two.on(begin(caller(9), { identity: tokenOf("other", { jti: "0" }) }))
      const given = tokenOf("ada", { jti: "1" })
      one.path.kill(false, (rule) => rule === "takeAndAdmit")
      yield* Effect.forkDetach(one.on(askBy(given)))
      while (!one.path.isDead()) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
      isSlow = true
      const asked = yield* Effect.forkChild(
        Effect.all([two.on(askBy(given)), three.on(askBy(given))], { concurrency: "unbounded" }),
      )
      // a signature is checked outside of the test's time
      while (asked.pollUnsafe() === undefined) {
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
        yield* TestClock.adjust("100 millis")
      }
      const answers = yield* Fiber.join(asked)
      assert.deepStrictEqual(
        answers.map(({ _tag }) => _tag),
        ["Queued", "Queued"],
      )
      assert.strictEqual(ticketIn(answers[0]), ticketIn(answers[1]))
    }).pipe(Effect.scoped),
  )

  it.effect("whose ticket changes again and again makes nobody wait for long, and can be used afterwards", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const store = yield* makeStore
      let lost: ((n: number) => string) | undefined
      let uses = 0
      /** Before each use, another request has used the token, and its gate has died. */
      const changing: Store["Service"] = {
        ...store,
        run: (rule, asked) =>
          lost === undefined || rule.name !== "identity.use"
            ? store.run(rule, asked)
            : Effect.gen(function* () {
                yield* store.set(asked.keys[0] ?? "", `${yield* store.now} ${lost?.(++uses)}`, 600_000)
                return yield* store.run(rule, asked)
              }),
      }
      const gate = yield* startGate(makeWorld(), changing, once)
      yield* gate.on(begin(caller(8), { identity: tokenOf("first", { jti: "0" }) }))
      const other = ticketIn(yield* gate.on(askBy(tokenOf("other", { jti: "0" }), caller(9))))
      lost = (n) => `${String(n).padStart(4, "0")}${other.slice(4)}`
      const given = tokenOf("ada", { jti: "1" })
      const asked = yield* Effect.forkChild(gate.on(askBy(given)))
      let millis = 0
      // a signature is checked outside of the test's time
      for (; asked.pollUnsafe() === undefined && millis < 60_000; millis += 100) {
        yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
        yield* TestClock.adjust("100 millis")
      }
      assert.isBelow(millis, MOST_WAIT_MILLIS + 2_000)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "IdentityUnavailable", retryAfterSeconds: 3 })
      assert.isAbove(uses, 30)
      lost = undefined
      yield* TestClock.adjust("3 seconds")
      expect((yield* gate.on(askBy(given)))._tag).toBe("Queued")
    }).pipe(Effect.scoped),
  )

  gateTest("is not used again once its ticket may have been forgotten", once, () =>
    Effect.gen(function* () {
      const given = token(claimsOf("ada", { jti: "1", exp: BEGIN / 1000 + 7_200 }))
      const { sessionId } = yield* begin(caller(1), { identity: given })
      yield* TestClock.adjust("1 minute")
      yield* hangUp(sessionId)
      for (const _ of [1, 2, 3]) {
        yield* TestClock.adjust("8 minutes")
        expect(yield* askBy(given)).toMatchObject({ _tag: "IdentityRefused", reason: "replayed" })
      }
    }),
  )

  gateTest("is forgotten when it has expired", once, () =>
    Effect.gen(function* () {
      const given = tokenOf("ada", { jti: "1" })
      yield* begin(caller(1), { identity: given })
      yield* TestClock.adjust("11 minutes")
      expect(yield* askBy(given)).toMatchObject({ _tag: "IdentityRefused", reason: "expired" })
    }),
  )
})
