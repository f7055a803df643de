/** A caller is forgotten by any gate on a store, once, in every place that has them, and nobody else is: in memory, on Redis, and on a Redis Cluster. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Redis } from "ioredis"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import type { ForgetRequest, Forgotten } from "../../src/operator/forgotten.ts"
import { Operator } from "../../src/operator/Operator.ts"
import type { Identity } from "../../src/protocol/identity.ts"
import { Store } from "../../src/store/Store.ts"
import type { RedisServer } from "../harness/redis.ts"
import { onSharedStores, type SharedStore } from "../harness/stores.ts"
import { startDyingGate } from "../support/dying-gates.ts"
import { type Given, makeWorld, outcomeOf, ticketIn, type World } from "../support/gate.ts"

/** Every key of a server with what it holds. */
const dumpOf = async ({ port }: RedisServer): Promise<string> => {
  const redis = new Redis(port, "127.0.0.1")
  const lines: Array<string> = []
  for (const key of await redis.keys("*")) {
    const type = await redis.type(key)
    const held =
      type === "hash"
        ? await redis.hgetall(key)
        : type === "zset"
          ? await redis.zrange(key, 0, "-1", "WITHSCORES")
          : await redis.get(key)
    lines.push(`${key} ${JSON.stringify(held)}`)
  }
  redis.disconnect()
  return lines.join("\n")
}

/** Everything in a store; empty in memory, where nobody else can look. */
const textOf = ({ servers }: SharedStore): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => Promise.all(servers.map(dumpOf))),
    (texts) => texts.join("\n"),
  )

/** The steps of an order to forget a subject, in this order. */
const STEPS = [
  "operator.act",
  "operator.forget",
  "budgets.forgetCalls",
  "events.forget",
  "limits.forget",
  "budgets.forgetBook",
] as const

const Events = { Token: ["a-token-of-16-characters"] }

const gate = Effect.fnUntraced(function* ({ connect }: SharedStore, given: Given, world: World) {
  const { on, path } = yield* startDyingGate(world, connect, given)
  const [gatekeeper, operator] = [yield* on(Gatekeeper), yield* on(Operator)]
  const forget = (request: ForgetRequest) =>
    Effect.gen(function* () {
      const answers: Array<Forgotten> = []
      let from: string | undefined
      do {
        const answer: Forgotten = yield* operator.forget("op", {
          ...request,
          ...(from === undefined ? {} : { from }),
        })
        answers.push(answer)
        from = answer.next
      } while (from !== undefined)
      const counts = (rows: ReadonlyArray<{ readonly place: string; readonly count: number }>) => {
        const sums: Record<string, number> = {}
        for (const { count, place } of rows) sums[place] = (sums[place] ?? 0) + count
        return sums
      }
      return {
        found: counts(answers.flatMap(({ found }) => found)),
        kept: counts(answers.flatMap(({ kept }) => kept)),
        requests: answers.length,
        unreached: answers[0]?.unreached ?? [],
      }
    })
  return {
    path,
    call: (subject: string | undefined, address: string, body: object = {}) => {
      const identity: Identity | undefined = subject === undefined ? undefined : { subject, name: `Name of ${subject}` }
      return outcomeOf(gatekeeper.request(body, { address, identity }))
    },
    hangUp: (n: number) => gatekeeper.sessionEnded([`web-${n}`]),
    leave: gatekeeper.leave,
    state: (ticket: string) => Effect.map(gatekeeper.status(ticket), ({ state }) => state),
    forget,
    block: (address: string) => operator.block("op", address, 0),
    auditLog: Effect.map(operator.auditLog(undefined, 0, 10), (log) => log?.lines ?? []),
  }
})

const gates = (store: SharedStore, given: Given) => {
  const world = makeWorld()
  return Effect.all([gate(store, given, world), gate(store, given, world)])
}

onSharedStores((makeStore, name) => {
  describe(`two gates ${name}`, () => {
    it.live("forget a subject in every place, once, and nobody else", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const [one, other] = yield* gates(stores, {
          VoiceAiPlatform: { MaxConcurrency: 1, Events },
          Security: { RateLimitConcurrency: 5 },
        })
        const hedy = "hedy/4711 ü"
        assert.strictEqual(
          (yield* one.call(hedy, "198.51.100.1", { metadata: { order: "hedy/4711" } }))._tag,
          "Started",
        )
        const waiting = yield* other.call(hedy, "198.51.100.2", { clientIdentifier: "hedy 4711" })
        const bob = yield* other.call("bob", "198.51.100.1")
        assert.deepStrictEqual([waiting._tag, bob._tag], ["Queued", "Queued"])

        const living = yield* other.forget({ subject: hedy })
        assert.deepStrictEqual(living.found, {})
        assert.deepStrictEqual(living.kept, { calls: 1, waiting: 1, events: 3, open_units: 2 })

        // her call ends and it is her turn, which she declines
        yield* other.hangUp(1)
        yield* one.leave(ticketIn(waiting))
        const dry = yield* other.forget({ subject: hedy, dryRun: true })
        assert.deepStrictEqual(dry.found, { tickets: 2, undelivered_events: 6, limits: 2 })
        assert.deepStrictEqual(yield* other.forget({ subject: hedy, dryRun: true }), dry)
        assert.deepStrictEqual((yield* one.forget({ subject: hedy })).found, dry.found)
        for (const gate of [one, other]) {
          const again = yield* gate.forget({ subject: hedy })
          assert.deepStrictEqual([again.found, again.kept], [{}, {}])
        }
        // her page can still ask how it ended, and he has his place
        assert.strictEqual(yield* one.state(ticketIn(waiting)), "left")
        assert.include(["waiting", "called"], yield* one.state(ticketIn(bob)))
        assert.deepStrictEqual((yield* one.forget({ subject: "bob", dryRun: true })).kept.open_units, 1)

        const lines = yield* one.auditLog
        assert.deepInclude(lines[0], { who: "op", action: "forget", result: "done" })
        assert.match(lines[0]?.target ?? "", /^a subject, reference [0-9a-f]{8}$/)
        const text = yield* textOf(stores)
        for (const part of ["hedy", "4711", "198.51.100.2"]) assert.notInclude(text, part)
        if (stores.servers.length > 0) assert.include(text, "bob")
      }).pipe(Effect.scoped),
    )

    it.live("forget an address with what an IP provider has said of it, and a log of hundreds of events in pages", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const [one, other] = yield* gates(stores, {
          VoiceAiPlatform: { MaxConcurrency: 1, Events },
          Security: { RateLimitHourly: 1_000, RateLimitDaily: 1_000 },
        })
        const store = Context.get(yield* Layer.build(stores.connect()), Store)
        yield* store.set("vg:ip:ipapi.is:203.0.113.9", "{}", 60_000)
        yield* store.set("vg:ip:ipapi.is:203.0.113.90", "{}", 60_000)
        yield* one.call(undefined, "203.0.113.90")
        for (let n = 0; n < 120; n++) {
          const asked = yield* one.call(undefined, n % 3 === 0 ? "203.0.113.9" : "203.0.113.90")
          yield* other.leave(ticketIn(asked))
        }
        const expected = { tickets: 40, undelivered_events: 80, limits: 40, address_facts: 1 }
        assert.deepStrictEqual((yield* other.forget({ address: "::ffff:203.0.113.9", dryRun: true })).found, expected)
        assert.deepStrictEqual((yield* other.forget({ address: "203.0.113.9" })).found, expected)
        assert.deepStrictEqual((yield* one.forget({ address: "203.0.113.9" })).found, {})
        assert.deepStrictEqual((yield* one.forget({ address: "203.0.113.90", dryRun: true })).found, {
          tickets: 80,
          undelivered_events: 160,
          limits: 81,
          address_facts: 1,
        })
        const text = yield* textOf(stores)
        assert.notMatch(text, /203\.0\.113\.9(?!0)/)
      }).pipe(Effect.scoped),
    )

    it.live("forget that an address was seen and refused, and keep its block, which the answer says", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const [one, other] = yield* gates(stores, {
          Security: { ConsoleToken: "console-token-0123456789", RateLimitHourly: 1, RateLimitDaily: 1 },
        })
        for (const address of ["198.51.100.7", "198.51.100.7", "198.51.100.70", "198.51.100.70"]) {
          yield* one.call(undefined, address)
        }
        const seen = (address: string) =>
          Effect.map(other.forget({ address, dryRun: true }), ({ found }) => found.seen ?? 0)
        // an instance reports what it has seen every few seconds
        while ((yield* seen("198.51.100.7")) < 3) yield* Effect.sleep("200 millis")
        yield* other.block("198.51.100.7")
        const forgotten = yield* other.forget({ address: "198.51.100.7" })
        assert.deepInclude(forgotten.found, { seen: 3, limits: 1 })
        assert.deepInclude(forgotten.kept, { blocks: 1, audit_log: 1 })
        assert.isUndefined((yield* one.forget({ address: "198.51.100.7" })).found.seen)
        assert.strictEqual(yield* seen("198.51.100.70"), 3)
      }).pipe(Effect.scoped),
    )

    it.live("forget what a caller has used of budgets, and keep the time that a running call holds", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const [one, other] = yield* gates(stores, {
          VoiceAiPlatform: {
            MaxConcurrency: 2,
            Budgets: [
              { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 60 },
              { Name: "all", Of: "campaign", Unit: "minutes", Per: "day", Cap: 100 },
            ],
          },
        })
        yield* one.call("hedy", "198.51.100.1")
        yield* one.call("bob", "198.51.100.2")
        const running = yield* other.forget({ subject: "hedy" })
        assert.deepStrictEqual([running.found, running.kept], [{ limits: 1 }, { calls: 1, held_time: 1 }])
        yield* other.hangUp(1)
        yield* one.hangUp(1)
        const dry = yield* other.forget({ subject: "hedy", dryRun: true })
        assert.deepStrictEqual(dry.found, { tickets: 1, budgets: 2, billed_calls: 1 })
        assert.deepStrictEqual((yield* one.forget({ subject: "hedy" })).found, dry.found)
        assert.deepStrictEqual((yield* other.forget({ subject: "hedy" })).found, {})
        assert.deepStrictEqual((yield* one.forget({ subject: "bob" })).kept, { calls: 1, held_time: 1 })
        assert.notInclude(yield* textOf(stores), "hedy")
      }).pipe(Effect.scoped),
    )

    it.live("keep the time that a running call holds of a campaign whose callers have no budgets, and tell of it", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const [one, other] = yield* gates(stores, {
          VoiceAiPlatform: {
            MaxConcurrency: 2,
            Budgets: [{ Name: "all", Of: "campaign", Unit: "minutes", Per: "day", Cap: 100 }],
          },
        })
        yield* one.call("hedy", "198.51.100.1")
        const running = yield* other.forget({ subject: "hedy" })
        assert.deepStrictEqual([running.found, running.kept], [{ limits: 1 }, { calls: 1, held_time: 1 }])
        yield* other.hangUp(1)
        assert.deepStrictEqual((yield* one.forget({ subject: "hedy" })).kept, {})
      }).pipe(Effect.scoped),
    )

    it.live("forget who was hashed in a week whose key is gone, as far as events say the subject", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const given = { VoiceAiPlatform: { MaxConcurrency: 1, Events }, Privacy: { Addresses: "hashed" } }
        const [one] = yield* gates(stores, given)
        yield* one.call("carol", "198.51.100.3")
        yield* one.hangUp(1)
        const [plain] = yield* gates(stores, { VoiceAiPlatform: { MaxConcurrency: 1, Events } })
        assert.deepStrictEqual((yield* plain.forget({ subject: "carol", dryRun: true })).found, {
          undelivered_events: 3,
        })
        const hashed = yield* one.forget({ subject: "carol" })
        assert.deepStrictEqual(hashed.found, { tickets: 1, undelivered_events: 3, limits: 1 })
        assert.isTrue(hashed.unreached.some((where) => where.includes("past weeks")))
        assert.notInclude(yield* textOf(stores), "carol")
      }).pipe(Effect.scoped),
    )

    it.live("forget what is left of a subject when the gate of an order has died at any of its steps", () =>
      Effect.gen(function* () {
        const stores = yield* makeStore
        const given = {
          VoiceAiPlatform: {
            MaxConcurrency: 20,
            Events,
            Budgets: [
              { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 60 },
              { Name: "all", Of: "campaign", Unit: "minutes", Per: "day", Cap: 100 },
            ],
          },
        }
        const [one, other] = yield* gates(stores, given)
        const deaths = STEPS.flatMap((step) =>
          [false, true].map((arrives) => ({ step, arrives, subject: `hedy-${step}-${arrives}` })),
        )
        for (const [n, subject] of [...deaths.map((death) => death.subject), "bob"].entries()) {
          assert.strictEqual((yield* one.call(subject, `198.51.100.${n + 1}`))._tag, "Started")
          yield* other.hangUp(n + 1)
        }
        const all = (yield* one.forget({ subject: "bob", dryRun: true })).found
        assert.deepStrictEqual(all, { tickets: 1, undelivered_events: 3, limits: 1, budgets: 2, billed_calls: 1 })
        const left = yield* Effect.forEach(deaths, ({ arrives, step, subject }) =>
          Effect.gen(function* () {
            const dying = yield* gate(stores, given, makeWorld())
            dying.path.kill(arrives, (rule) => rule === step)
            const order = yield* Effect.forkDetach(dying.forget({ subject }))
            while (!dying.path.isDead() || dying.path.inFlight() > 0) yield* Effect.sleep("10 millis")
            assert.isUndefined(order.pollUnsafe())
            return (yield* other.forget({ subject })).found
          }),
        )
        // the first died before it had removed anything, and the last one with the last step
        assert.deepStrictEqual([left[0], left.at(-1)], [all, {}])
        const found = (place: string) => left.filter((each) => place in each).length
        // what two of them have removed in their order, the next ones did not find
        assert.deepStrictEqual(
          ["tickets", "billed_calls", "undelivered_events", "limits", "budgets"].map(found),
          [3, 5, 7, 9, 11],
        )
        for (const { subject } of deaths) {
          const again = yield* one.forget({ subject })
          assert.deepStrictEqual([again.found, again.kept], [{}, {}])
        }
        assert.deepStrictEqual((yield* other.forget({ subject: "bob", dryRun: true })).found, all)
        assert.notInclude(yield* textOf(stores), "hedy")
      }).pipe(Effect.scoped),
    )
  })
})

describe("an order to forget", () => {
  it("is about a subject or an address, and goes on where an answer said", async () => {
    const { wrongForget } = await import("../../src/operator/forgotten.ts")
    assert.isUndefined(wrongForget({ subject: "ada" }))
    assert.isUndefined(wrongForget({ address: "2001:db8::1", from: "0123abcd events 17 business/campaign" }))
    for (const wrong of [{}, { subject: "a", address: "192.0.2.1" }, { address: "example.com" }]) {
      assert.isDefined(wrongForget(wrong), JSON.stringify(wrong))
    }
    for (const from of ["", "0123abcd events x c", "0123abcd others 1 c", "zz events 1 c"]) {
      assert.strictEqual(wrongForget({ subject: "ada", from }), "from: Expected the `next` of the answer before.")
    }
  })
})
