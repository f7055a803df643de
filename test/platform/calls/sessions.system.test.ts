/** Web sessions, simulated calls and conversations, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Businesses } from "../../../src/platform/businesses/Businesses.ts"
import { ANSWERS_MILLIS, Calls, COMPLETES_MILLIS, RINGS_MILLIS } from "../../../src/platform/calls/Calls.ts"
import { Conversations, MAX_TURN_TEXT, MAX_TURNS } from "../../../src/platform/calls/Conversations.ts"
import {
  LIVENESS_TIMEOUT_MILLIS,
  type SessionFilter,
  STATUS,
  TOKEN_LIFETIME_MILLIS,
  WebSessions,
} from "../../../src/platform/calls/WebSessions.ts"
import { Webhooks } from "../../../src/platform/webhooks/Webhooks.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { prepare } from "../support.ts"

const process = Effect.fnUntraced(function* (database: Redacted.Redacted<string>) {
  const context = yield* Layer.build(Layer.fresh(servicesOf(database)))
  return {
    context,
    sessions: Context.get(context, WebSessions),
    calls: Context.get(context, Calls),
    conversations: Context.get(context, Conversations),
    businesses: Context.get(context, Businesses),
    webhooks: Context.get(context, Webhooks),
  }
})

onEachEngine("sessions", (engine) => {
  const started = Effect.gen(function* () {
    const database = yield* engine.database
    const first = yield* process(database)
    const made = yield* Effect.provideContext(prepare({ url: "http://127.0.0.1:9/", headers: {} }), first.context)
    const keyId = made.gateKeyId
    const options = {
      keyId,
      business: made.shop,
      campaign: made.webCampaign,
      regionId: "eu",
      clientIdentifier: null,
      configuration: {},
    }
    /** the ids of the sessions whose end is in the outbox */
    const reportedEnds = Effect.map(first.webhooks.list("b1", { limit: 100 }), ({ items }) =>
      items.map(({ webSessionId }) => webSessionId),
    )
    return { ...first, database, options, reportedEnds, keyId, shop: made.shop }
  })

  it.effect("never exceed the account's limit when two processes start a burst, calls counted too", () =>
    Effect.gen(function* () {
      const { database, sessions, calls, keyId, options, shop } = yield* started
      const other = yield* process(database)
      const call = { keyId, business: shop, regionId: "eu", toNumber: "+15550100" }
      const starts = Array.from({ length: 12 }, (_, i) => {
        const { calls: onCalls, sessions: on } = i % 2 === 0 ? { calls, sessions } : other
        return Effect.exit(i % 3 === 0 ? Effect.asVoid(onCalls.initiate(call)) : Effect.asVoid(on.initiate(options)))
      })
      const exits = yield* Effect.all(starts, { concurrency: "unbounded" })
      assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 2)
      assert.strictEqual(yield* sessions.running("u1"), 2)
      assert.deepInclude(yield* Effect.flip(other.sessions.initiate(options)), {
        _tag: "ConcurrencyLimitReached",
        limit: 2,
      })
    }),
  )

  it.effect("open once, with their own token, in whichever process", () =>
    Effect.gen(function* () {
      const { database, sessions, options } = yield* started
      const other = yield* process(database)
      const first = yield* sessions.initiate(options)
      const second = yield* sessions.initiate(options)
      const token = Redacted.value(first.token)
      yield* Effect.flip(sessions.join(second.session.webSessionId, token))
      yield* Effect.flip(sessions.join("unknown", token))
      yield* Effect.flip(sessions.join(first.session.webSessionId, ""))
      const joins = Array.from({ length: 6 }, (_, i) =>
        Effect.exit((i % 2 === 0 ? sessions : other.sessions).join(first.session.webSessionId, token)),
      )
      const exits = yield* Effect.all(joins, { concurrency: "unbounded" })
      assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 1)
      const dump = yield* Effect.promise(() => engine.dump(database))
      assert.include(dump, second.session.webSessionId)
      assert.notInclude(dump, token)
      assert.notInclude(dump, Redacted.value(second.token))
    }),
  )

  it.effect("expire when they are not opened within five minutes, which is reported once", () =>
    Effect.gen(function* () {
      const { database, sessions, reportedEnds, options } = yield* started
      const other = yield* process(database)
      const { session, token } = yield* sessions.initiate(options)
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS - 1)
      yield* sessions.sweep
      assert.strictEqual(yield* sessions.running("u1"), 1)
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS)
      // Free at that moment, before the sweep.
      assert.strictEqual(yield* sessions.running("u1"), 0)
      yield* Effect.flip(sessions.join(session.webSessionId, Redacted.value(token)))
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS + 700)
      yield* Effect.all([sessions.sweep, other.sessions.sweep, sessions.end(session.webSessionId)], { concurrency: 3 })
      assert.include(yield* sessions.find("b1", session.webSessionId), { joinedAt: null })
      assert.deepStrictEqual(yield* reportedEnds, [session.webSessionId])
    }),
  )

  it.effect("have the status and the time of an expiry", () =>
    Effect.gen(function* () {
      const { sessions, options } = yield* started
      const { session } = yield* sessions.initiate(options)
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS + 700)
      yield* sessions.sweep
      const found = yield* sessions.find("b1", session.webSessionId)
      assert.deepInclude(found, { status: STATUS.Expired, endedAt: TOKEN_LIFETIME_MILLIS })
    }),
  )

  it.effect("end at the longest call of their campaign although they are renewed, and then no longer count", () =>
    Effect.gen(function* () {
      const { sessions, reportedEnds, options } = yield* started
      const campaign = { ...options.campaign, maxCallMinutes: 3 }
      const endsBy = 3 * 60_000
      const { session, token } = yield* sessions.initiate({ ...options, campaign })
      const id = session.webSessionId
      const unopened = yield* sessions.initiate({ ...options, campaign })
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS - 1)
      assert.strictEqual(yield* sessions.running("u1"), 2)
      yield* sessions.join(id, Redacted.value(token))
      for (let at = 80_000; at < endsBy; at += LIVENESS_TIMEOUT_MILLIS / 3) {
        yield* TestClock.setTime(at)
        assert.isTrue((yield* sessions.renew([id])).has(id))
      }
      yield* TestClock.setTime(endsBy - 1)
      // the other one has ended because nobody has opened it
      assert.strictEqual(yield* sessions.running("u1"), 1)
      yield* TestClock.setTime(endsBy)
      assert.strictEqual(yield* sessions.running("u1"), 0)
      assert.isFalse((yield* sessions.renew([id])).has(id))
      yield* Effect.flip(sessions.join(unopened.session.webSessionId, Redacted.value(unopened.token)))
      yield* TestClock.setTime(endsBy + 700)
      yield* sessions.sweep
      const found = yield* sessions.find("b1", id)
      assert.deepInclude(found, { endedAt: endsBy, endsBy })
      assert.sameMembers([...(yield* reportedEnds)], [id, unopened.session.webSessionId])
    }),
  )

  it.effect("keep the first of too many turns, in their order", () =>
    Effect.gen(function* () {
      const { conversations, sessions, options } = yield* started
      const { session, token } = yield* sessions.initiate(options)
      yield* sessions.join(session.webSessionId, Redacted.value(token))
      const callerTurns = Array.from({ length: MAX_TURNS - 3 }, (_, i) => ({
        role: "caller" as const,
        text: String(i),
      }))
      yield* conversations.addTurns(session.conversationSessionId, callerTurns)
      for (const text of ["a", "b", "c", "d"]) {
        const both = [text, `${text}${text}`].map((each) => ({ role: "agent" as const, text: each }))
        yield* conversations.addTurns(session.conversationSessionId, both)
      }
      const { turns } = yield* conversations.find("b1", session.conversationSessionId)
      assert.lengthOf(turns, MAX_TURNS)
      assert.deepStrictEqual(
        turns.slice(-4).map(({ text }) => text),
        [String(MAX_TURNS - 4), "a", "aa", "b"],
      )
    }),
  )

  it.effect("continue while they are renewed, and end when their process has died", () =>
    Effect.gen(function* () {
      const { sessions, reportedEnds, options } = yield* started
      const campaign = { ...options.campaign, maxCallMinutes: 60 }
      const { session, token } = yield* sessions.initiate({ ...options, campaign })
      const id = session.webSessionId
      yield* sessions.join(id, Redacted.value(token))
      for (let minute = 1; minute <= 30; minute++) {
        yield* TestClock.setTime(minute * LIVENESS_TIMEOUT_MILLIS - minute)
        assert.deepStrictEqual([...(yield* sessions.renew([id, "unknown"]))], [id])
        yield* sessions.sweep
      }
      assert.strictEqual(yield* sessions.running("u1"), 1)
      assert.deepStrictEqual(yield* reportedEnds, [])
      yield* TestClock.setTime(32 * LIVENESS_TIMEOUT_MILLIS)
      yield* sessions.sweep
      assert.strictEqual(yield* sessions.running("u1"), 0)
      assert.deepStrictEqual(yield* reportedEnds, [id])
      assert.deepInclude(yield* sessions.find("b1", id), {
        status: STATUS.ProcessedBackend,
        endedAt: 31 * LIVENESS_TIMEOUT_MILLIS - 30,
      })
      // Its process learns that it has ended.
      assert.deepStrictEqual([...(yield* sessions.renew([id]))], [])
    }),
  )

  it.effect("end exactly once, however they are ended", () =>
    Effect.gen(function* () {
      const { database, sessions, reportedEnds, options } = yield* started
      const other = yield* process(database)
      const { session, token } = yield* sessions.initiate(options)
      yield* sessions.join(session.webSessionId, Redacted.value(token))
      const ends = [sessions, other.sessions, sessions, other.sessions].map((on) => on.end(session.webSessionId))
      yield* Effect.all(ends, { concurrency: "unbounded" })
      assert.strictEqual(yield* sessions.running("u1"), 0)
      assert.deepStrictEqual(yield* reportedEnds, [session.webSessionId])
    }),
  )

  it.effect("are found, counted and listed page by page by their business only", () =>
    Effect.gen(function* () {
      const { sessions, options } = yield* started
      const ids: Array<string> = []
      for (let i = 0; i < 5; i++) {
        yield* TestClock.setTime(Math.floor(i / 2) * 1000)
        const { session } = yield* sessions.initiate({ ...options, clientIdentifier: i === 0 ? "me" : null })
        yield* sessions.end(session.webSessionId)
        ids.push(session.webSessionId)
      }
      yield* Effect.flip(sessions.find("b2", ids[0] ?? ""))
      assert.strictEqual(yield* sessions.count("b2", {}), 0)
      assert.strictEqual(yield* sessions.count("b1", { clientIdentifier: "me", webCampaignId: "c1" }), 1)
      assert.strictEqual(yield* sessions.count("b1", { from: 1000, to: 2000 }), 2)
      assert.strictEqual(yield* sessions.count("b1", { running: true }), 0)
      const all = (yield* sessions.list("b1", { limit: 100 }, {})).items.map(({ webSessionId }) => webSessionId)
      assert.sameMembers(all, ids)
      const pages: Array<string> = []
      let page = yield* sessions.list("b1", { limit: 2 }, {})
      assert.isNull(page.previousCursor)
      for (;;) {
        pages.push(...page.items.map(({ webSessionId }) => webSessionId))
        if (page.nextCursor === null) break
        page = yield* sessions.list("b1", { limit: 2, nextCursor: page.nextCursor }, {})
      }
      assert.deepStrictEqual(pages, all)
      const back = yield* sessions.list("b1", { limit: 3, previousCursor: page.previousCursor }, {})
      assert.deepStrictEqual(
        back.items.map(({ webSessionId }) => webSessionId),
        all.slice(1, 4),
      )
      assert.isNotNull(back.previousCursor)
      assert.strictEqual((yield* Effect.flip(sessions.list("b1", { nextCursor: "nonsense" }, {})))._tag, "Refused")
    }),
  )

  it.effect("are filtered by several campaigns, clients and statuses, and by when they ended", () =>
    Effect.gen(function* () {
      const { sessions, options } = yield* started
      const start = (clientIdentifier: string) => sessions.initiate({ ...options, clientIdentifier })
      const expired = (yield* start("never there")).session.webSessionId
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS)
      yield* sessions.sweep
      const ended = (yield* start("me")).session.webSessionId
      yield* TestClock.setTime(TOKEN_LIFETIME_MILLIS + 5_000)
      yield* sessions.end(ended)
      const running = (yield* start("you")).session.webSessionId
      const found = Effect.fnUntraced(function* (filter: SessionFilter) {
        const ids = (yield* sessions.list("b1", {}, filter)).items.map(({ webSessionId }) => webSessionId)
        assert.strictEqual(yield* sessions.count("b1", filter), ids.length)
        return ids
      })
      assert.sameMembers(yield* found({ webCampaignIds: ["c1", "c2"] }), [expired, ended, running])
      assert.sameMembers(yield* found({ webCampaignIds: ["c2"] }), [])
      assert.sameMembers(yield* found({ webCampaignIds: [] }), [])
      assert.sameMembers(yield* found({ clientIdentifiers: ["me", "you"] }), [ended, running])
      assert.sameMembers(yield* found({ statuses: [STATUS.Expired] }), [expired])
      assert.sameMembers(yield* found({ statuses: [0, STATUS.ProcessedBackend] }), [ended, running])
      assert.sameMembers(yield* found({ endedFrom: TOKEN_LIFETIME_MILLIS + 5_000 }), [ended])
      assert.sameMembers(yield* found({ endedTo: TOKEN_LIFETIME_MILLIS + 5_000 }), [expired])
    }),
  )

  it.effect("prevent the deletion of their business while they run, and are deleted with it afterwards", () =>
    Effect.gen(function* () {
      const { businesses, sessions, reportedEnds, options } = yield* started
      const { session } = yield* sessions.initiate(options)
      assert.deepInclude(yield* Effect.flip(businesses.remove("u1", "b1")), { code: "BUSINESS_IN_USE" })
      yield* sessions.end(session.webSessionId)
      yield* businesses.remove("u1", "b1")
      yield* Effect.flip(sessions.find("b1", session.webSessionId))
      // The pending webhook is still sent.
      assert.deepStrictEqual(yield* reportedEnds, [session.webSessionId])
    }),
  )

  it.effect("become conversations with their turns in order", () =>
    Effect.gen(function* () {
      const { conversations, sessions, options } = yield* started
      const { session, token } = yield* sessions.initiate({ ...options, clientIdentifier: "me" })
      const id = session.conversationSessionId
      assert.lengthOf((yield* conversations.list("b1", {}, {})).items, 0)
      yield* TestClock.setTime(1_000)
      yield* sessions.join(session.webSessionId, Redacted.value(token))
      yield* conversations.addTurns(id, [{ role: "agent", text: "Hello" }])
      yield* TestClock.setTime(2_000)
      yield* conversations.addTurns(id, [{ role: "caller", text: "x".repeat(MAX_TURN_TEXT + 1) }])
      yield* TestClock.setTime(11_000)
      yield* sessions.end(session.webSessionId)
      const found = yield* conversations.find("b1", id)
      assert.deepInclude(found, { kind: "web", clientIdentifier: "me", startedAt: 1_000, endedAt: 11_000 })
      assert.deepStrictEqual(found.turns, [
        { role: "agent", text: "Hello", at: 1_000 },
        { role: "caller", text: "x".repeat(MAX_TURN_TEXT), at: 2_000 },
      ])
      yield* Effect.flip(conversations.find("b2", id))
      assert.lengthOf((yield* conversations.list("b1", {}, { clientIdentifier: "you" })).items, 0)
      assert.lengthOf((yield* conversations.list("b1", {}, { kind: "web", from: 1_000, to: 1_001 })).items, 1)
      assert.deepStrictEqual(yield* conversations.usageCount("u1", {}), { count: 1, seconds: 10 })
      assert.deepStrictEqual(yield* conversations.usageCount("u2", {}), { count: 0, seconds: 0 })
    }),
  )

  it.effect(
    "sessions of the telephone are queued, ringing, active and completed in time, with their conversation",
    () =>
      Effect.gen(function* () {
        const { calls, conversations, keyId, sessions, shop } = yield* started
        const call = yield* calls.initiate({ keyId, business: shop, regionId: "eu", toNumber: "+15550100" })
        const seen = Effect.map(calls.find("b1", call.callId), ({ status }) => status)
        const turns = Effect.map(conversations.find("b1", call.conversationSessionId), (found) => found.turns.length)
        const counts = Effect.all([
          conversations.count("b1", { running: true }),
          conversations.count("b1", { running: false, kinds: ["call"] }),
          conversations.count("b1", { kinds: ["web"] }),
          conversations.count("b1", { kinds: [] }),
          conversations.count("b2", {}),
        ])
        assert.strictEqual(yield* seen, "queued")
        assert.deepStrictEqual(yield* counts, [0, 0, 0, 0, 0])
        yield* Effect.flip(turns)
        yield* TestClock.setTime(RINGS_MILLIS)
        assert.strictEqual(yield* seen, "ringing")
        yield* TestClock.setTime(ANSWERS_MILLIS)
        assert.strictEqual(yield* seen, "active")
        assert.strictEqual(yield* turns, 1)
        assert.deepStrictEqual(yield* counts, [1, 0, 0, 0, 0])
        assert.strictEqual(yield* sessions.running("u1"), 1)
        yield* TestClock.setTime(COMPLETES_MILLIS)
        assert.deepInclude(yield* calls.find("b1", call.callId), { status: "completed", endedAt: COMPLETES_MILLIS })
        assert.strictEqual(yield* turns, 5)
        assert.deepStrictEqual(yield* counts, [0, 1, 0, 0, 0])
        assert.strictEqual(yield* sessions.running("u1"), 0)
        assert.deepStrictEqual(yield* conversations.usageCount("u1", { kind: "call" }), { count: 1, seconds: 20 })
      }),
  )
})
