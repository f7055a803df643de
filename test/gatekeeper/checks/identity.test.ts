/** Callers whom a signed token, or the host, names. */
import { assert, describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { REFUSED_PER_MINUTE } from "../../../src/gatekeeper/checks/Identify.ts"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { noFacts } from "../../../src/ip-intel/facts.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import type { Identity } from "../../../src/protocol/identity.ts"
import { ask, begin, caller, enqueue, gateTest, hangUp, outcomeOf, ticketIn } from "../../support/gate.ts"
import { askBy, claimsOf, SECRET, token, tokenOf } from "../../support/tokens.ts"

const on = { Secrets: [SECRET] }
const vpn = { ...noFacts, vpn: true }

/** A request of a caller whom the host knows. */
const askAs = (identity: Identity, address = caller(1), body: object = {}) =>
  Gatekeeper.use((gate) => outcomeOf(gate.request(body, { address, identity })))

describe("a signed token", () => {
  gateTest(
    "a subject's limit holds over all its addresses, and two subjects at one address do not share a limit",
    { Identity: on, Security: { RateLimitHourly: 2 } },
    () =>
      Effect.gen(function* () {
        for (const n of [1, 2]) expect((yield* askBy(tokenOf("ada"), caller(n)))._tag).not.toBe("RateLimited")
        expect(yield* askBy(tokenOf("ada"), caller(3))).toMatchObject({ _tag: "RateLimited", limit: "hour" })
        for (const _ of [1, 2]) expect((yield* askBy(tokenOf("bob"), caller(3)))._tag).toBe("Queued")
        expect((yield* askBy(tokenOf("bob"), caller(3)))._tag).toBe("RateLimited")
        // nothing of it was the address's
        for (const _ of [1, 2]) expect((yield* ask(caller(3)))._tag).toBe("Queued")
        expect((yield* ask(caller(3)))._tag).toBe("RateLimited")
      }),
  )

  gateTest(
    "a subject that is written like an address does not share that address's limit",
    { Identity: on, Security: { RateLimitHourly: 1 } },
    () =>
      Effect.gen(function* () {
        yield* begin(caller(1))
        expect((yield* askBy(tokenOf(caller(1))))._tag).toBe("Queued")
        expect((yield* ask(caller(1)))._tag).toBe("RateLimited")
        for (const odd of ["a b", "a}b", "{a}", "ä☎", "%20", "sub:ada"]) {
          expect((yield* askBy(tokenOf(odd)))._tag, odd).toBe("Queued")
          expect((yield* askBy(tokenOf(odd)))._tag, odd).toBe("RateLimited")
        }
      }),
  )

  for (const Privacy of [{ Addresses: "plain" }, { Addresses: "hashed" }]) {
    gateTest(
      `a token's own limits replace those of the settings, with ${Privacy.Addresses} addresses`,
      { Identity: on, Privacy, Security: { RateLimitHourly: 1 } },
      () =>
        Effect.gen(function* () {
          const limited = (hour: number) => tokenOf("ada", { voicegate: { limits: { hour } } })
          yield* begin(caller(1), { identity: limited(3) })
          for (const n of [2, 3]) expect((yield* askBy(limited(3), caller(n)))._tag).toBe("Queued")
          expect(yield* askBy(limited(3))).toMatchObject({
            _tag: "RateLimited",
            limit: "hour",
            limits: [{ name: "hour", quota: 3, remaining: 0 }, { name: "day" }],
          })
          // a new token with a higher limit is not refused from memory
          expect((yield* askBy(limited(4)))._tag).toBe("Queued")
          expect((yield* askBy(tokenOf("ada")))._tag).toBe("RateLimited")
        }),
    )
  }

  gateTest(
    "a token's own limits hold where the settings have none, and a full queue gives its unit back",
    { Identity: on, Security: { RateLimitHourly: 0, RateLimitDaily: 0 }, Queue: { MaxLength: 1 } },
    () =>
      Effect.gen(function* () {
        const gate = yield* Gatekeeper
        const two = tokenOf("ada", { voicegate: { limits: { hour: 2 } } })
        yield* begin()
        const ticket = yield* enqueue()
        for (const _ of [1, 2, 3]) expect((yield* askBy(two))._tag).toBe("QueueFull")
        yield* gate.leave(ticket)
        yield* TestClock.adjust("4 seconds")
        yield* gate.leave(ticketIn(yield* askBy(two)))
        expect((yield* askBy(two))._tag).toBe("Queued")
        expect((yield* askBy(two))._tag).toBe("RateLimited")
      }),
  )

  gateTest(
    "places and calls at once are counted by subject",
    { Identity: on, Security: { RateLimitConcurrency: 1 } },
    () =>
      Effect.gen(function* () {
        yield* begin(caller(1), { identity: tokenOf("ada") })
        expect(yield* askBy(tokenOf("ada"), caller(2))).toMatchObject({ _tag: "RateLimited", limit: "concurrent" })
        expect((yield* askBy(tokenOf("bob"), caller(1)))._tag).toBe("Queued")
        yield* hangUp("web-1")
        yield* TestClock.adjust("2 seconds")
        expect((yield* askBy(tokenOf("ada"), caller(2)))._tag).toBe("Queued")
      }),
  )

  gateTest("signed variables and names win over those of the page", { Identity: on }, (world) =>
    Effect.gen(function* () {
      const voicegate = { variables: { plan: "gold" }, name: "Ada" }
      yield* begin(caller(1), {
        identity: tokenOf("customer-7", { voicegate }),
        dynamicVariables: { plan: "free", page: "prices" },
        metadata: { order: "12" },
      })
      assert.deepInclude(world.initiated[0], {
        dynamicVariables: { plan: "gold", page: "prices" },
        metadata: { order: "12", voicegate_subject: "customer-7", voicegate_name: "Ada" },
      })
    }),
  )

  gateTest("no page can say who calls", {}, () =>
    Effect.gen(function* () {
      for (const name of ["voicegate_subject", "voicegate_name"]) {
        const outcome = yield* ask(caller(1), { metadata: { [name]: "customer-7" } })
        expect(outcome).toMatchObject({ _tag: "InvalidRequest", issues: [{ field: `metadata.${name}` }] })
      }
    }),
  )

  gateTest("more variables than the platform takes are refused, together with the signed ones", { Identity: on }, () =>
    Effect.gen(function* () {
      const many = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`v${n}`, "x"]))
      const signed = tokenOf("ada", { voicegate: { variables: { plan: "gold" } } })
      expect(yield* askBy(signed, caller(1), { dynamicVariables: many })).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ field: "dynamicVariables" }],
      })
      expect(yield* askBy(signed, caller(1), { metadata: many })).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ field: "metadata" }],
      })
      yield* begin(caller(1), {
        identity: tokenOf("ada", { voicegate: { variables: { v0: "y" } } }),
        dynamicVariables: many,
      })
    }),
  )

  gateTest(
    "a bad token is refused before anything is spent of others: no lookup, no unit, no place, no circuit",
    { Identity: on, Security: { RateLimitHourly: 1 } },
    (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed(noFacts)
        for (const [given, reason] of [
          ["nonsense", "malformed"],
          [token(claimsOf("ada"), { secret: `${SECRET}-else` }), "signature"],
          [token(claimsOf("ada"), { alg: "none" }), "algorithm"],
          [tokenOf("ada", { exp: 1 }), "expired"],
          [tokenOf("ada", { nbf: 3e9 }), "not_yet_valid"],
          [tokenOf("ada", { voicegate: { campaigns: ["other"] } }), "campaign"],
          [tokenOf("ada", { voicegate: { campaigns: [] } }), "campaign"],
        ] as const) {
          for (let n = 0; n < 5; n++) {
            expect(yield* askBy(given, caller(1))).toMatchObject({ _tag: "IdentityRefused", reason })
          }
        }
        assert.deepStrictEqual(world.lookedUp, [])
        assert.deepStrictEqual(world.initiated, [])
        yield* begin(caller(1), { identity: tokenOf("ada") })
        yield* enqueue(caller(1))
        assert.deepStrictEqual(world.lookedUp, [caller(1), caller(1)])
      }),
  )

  gateTest(
    "an address that sends bad tokens has its tokens checked again after a minute, and nobody else waits",
    { Identity: on },
    () =>
      Effect.gen(function* () {
        const bad = token(claimsOf("ada"), { secret: `${SECRET}-else` })
        for (let n = 0; n < REFUSED_PER_MINUTE; n++) expect((yield* askBy(bad, caller(1)))._tag).toBe("IdentityRefused")
        expect(yield* askBy(bad, caller(1))).toMatchObject({ _tag: "IdentityUnavailable", retryAfterSeconds: 60 })
        expect((yield* askBy(tokenOf("ada"), caller(1)))._tag).toBe("IdentityUnavailable")
        expect((yield* askBy(tokenOf("ada"), caller(2)))._tag).toBe("Started")
        yield* enqueue(caller(1))
        yield* TestClock.adjust("1 minute")
        expect((yield* askBy(tokenOf("ada"), caller(1)))._tag).not.toBe("IdentityUnavailable")
      }),
  )

  gateTest("a token for a campaign is for it by its name or its web campaign id", { Identity: on }, () =>
    Effect.gen(function* () {
      for (const campaigns of [["default"], ["campaign"], ["other", "campaign"]]) {
        expect((yield* askBy(tokenOf("ada", { voicegate: { campaigns } })))._tag).not.toBe("IdentityRefused")
      }
    }),
  )

  gateTest(
    "known callers may be spared the address check, and nobody else",
    { Identity: { ...on, Trust: "address-check" } },
    (world) =>
      Effect.gen(function* () {
        world.lookup = () => Effect.succeed(vpn)
        expect((yield* ask())._tag).toBe("Blocked")
        yield* begin(caller(1), { identity: tokenOf("ada") })
        assert.strictEqual(world.lookedUp.length, 1)
      }),
  )

  gateTest("known callers are not spared the address check by default", { Identity: on }, (world) =>
    Effect.gen(function* () {
      world.lookup = () => Effect.succeed(vpn)
      expect((yield* askBy(tokenOf("ada")))._tag).toBe("Blocked")
    }),
  )

  gateTest(
    "a campaign may require a token while another does not",
    {
      Identity: on,
      VoiceAiPlatform: {
        IdentityRequired: true,
        Campaigns: { open: { WebCampaignId: "open", IdentityRequired: false, MaxConcurrency: 1 } },
      },
    },
    () =>
      Effect.gen(function* () {
        expect((yield* ask())._tag).toBe("IdentityRequired")
        expect((yield* ask(caller(1), { identity: "" }))._tag).toBe("IdentityRequired")
        expect((yield* ask(caller(1), { campaignId: "open" }))._tag).toBe("Started")
        expect((yield* askBy(tokenOf("ada")))._tag).toBe("Started")
      }),
  )

  gateTest("a token beside the body counts where the body has none", { Identity: { ...on, Required: true } }, () =>
    Effect.gen(function* () {
      const gate = yield* Gatekeeper
      const by = (body: object, token: string) => outcomeOf(gate.request(body, { address: caller(1), token }))
      expect((yield* by({}, ""))._tag).toBe("IdentityRequired")
      expect((yield* by({}, tokenOf("ada")))._tag).toBe("Started")
      expect((yield* by({ identity: "nonsense" }, tokenOf("ada")))._tag).toBe("IdentityRefused")
      expect((yield* by({ identity: tokenOf("ada") }, "nonsense"))._tag).toBe("Queued")
    }),
  )

  gateTest("a token is not read where the settings have no key", {}, () =>
    Effect.gen(function* () {
      yield* begin(caller(1), { identity: "nonsense" })
    }),
  )

  gateTest("a ticket that waits is answered again without a token", { Identity: { ...on, Required: true } }, () =>
    Effect.gen(function* () {
      yield* begin(caller(1), { identity: tokenOf("ada") })
      const ticket = ticketIn(yield* askBy(tokenOf("bob")))
      const again = yield* ask(caller(2), { uniqueRequestId: ticket })
      assert.strictEqual(ticketIn(again), ticket)
    }),
  )
})

describe("what an operator sees of who calls", () => {
  const shown = Operator.use((operator) =>
    Effect.map(operator.view("default", { firstSlot: 0, slots: 9, firstPlace: 0, places: 9 }, 0), (view) => [
      ...(view?.queue?.slotPage ?? []).map(({ subject }) => subject),
      ...(view?.queue?.waitingPage ?? []).map(({ subject }) => subject),
    ]),
  )
  const three = Effect.gen(function* () {
    yield* begin(caller(1), { identity: tokenOf("ada@shop example") })
    yield* askBy(tokenOf("bob"))
    yield* enqueue()
    return yield* shown
  })

  gateTest("is the subject, and nothing of an address", { Identity: on }, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* three, ["ada%40shop%20example", "bob", undefined])
    }),
  )

  gateTest("is its hash where addresses are hashed", { Identity: on, Privacy: { Addresses: "hashed" } }, () =>
    Effect.gen(function* () {
      const [ada, bob, none] = yield* three
      for (const hash of [ada, bob]) assert.match(hash ?? "", /^h[\w-]{16}$/)
      assert.isUndefined(none)
    }),
  )
})

describe("a caller whom the host knows", () => {
  gateTest("needs no token, and is counted as a subject", { Security: { RateLimitHourly: 1 } }, (world) =>
    Effect.gen(function* () {
      const ada: Identity = { subject: "ada", name: "Ada", variables: { plan: "gold" }, trust: "address-check" }
      world.lookup = () => Effect.succeed(vpn)
      expect((yield* askAs(ada))._tag).toBe("Started")
      assert.deepInclude(world.initiated[0], {
        dynamicVariables: { plan: "gold" },
        metadata: { voicegate_subject: "ada", voicegate_name: "Ada" },
      })
      expect((yield* askAs(ada, caller(2)))._tag).toBe("RateLimited")
      expect((yield* askAs({ subject: "bob" }))._tag).toBe("Blocked")
    }),
  )

  gateTest("is checked, and no token of the page is read", { Identity: { ...on, Required: true } }, () =>
    Effect.gen(function* () {
      expect((yield* askAs({ subject: "ada" }, caller(1), { identity: "nonsense" }))._tag).toBe("Started")
      expect(yield* askAs({ subject: "" })).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ field: "identity.subject" }],
      })
      expect(yield* askAs(Object({ subject: "ada", limit: 3 }))).toMatchObject({
        _tag: "InvalidRequest",
        issues: [{ field: "identity.limit" }],
      })
    }),
  )
})
