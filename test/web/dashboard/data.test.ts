/** What the dashboard adds to the platform's data: sessions of people, what runs, deliveries. On both databases. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Audit } from "../../../src/platform/Audit.ts"
import { Calls } from "../../../src/platform/calls/Calls.ts"
import { Conversations } from "../../../src/platform/calls/Conversations.ts"
import { excerptOf } from "../../../src/platform/calls/excerpts.ts"
import * as Running from "../../../src/platform/calls/Running.ts"
import { SEARCHED, SEARCHED_TURNS } from "../../../src/platform/calls/search.ts"
import { WebSessions } from "../../../src/platform/calls/WebSessions.ts"
import * as DashboardSessions from "../../../src/platform/users/DashboardSessions.ts"
import { Users } from "../../../src/platform/users/Users.ts"
import * as Deliveries from "../../../src/platform/webhooks/Deliveries.ts"
import { Webhooks } from "../../../src/platform/webhooks/Webhooks.ts"
import { onEachEngine, servicesOf } from "../../platform/engines.ts"
import { prepare } from "../../platform/support.ts"

const session = (userId: string, epoch = 0) => ({ userId, epoch, address: "192.0.2.1", userAgent: "" })

onEachEngine("the dashboard's data", (engine) => {
  const given = <A, E>(
    effect: Effect.Effect<
      A,
      E,
      | Audit
      | DashboardSessions.DashboardSessions
      | Deliveries.Deliveries
      | Running.Running
      | Calls
      | SqlClient.SqlClient
      | Users
      | Webhooks
      | WebSessions
      | Layer.Success<ReturnType<typeof servicesOf>>
    >,
  ) =>
    Effect.flatMap(engine.database, (database) =>
      effect.pipe(
        Effect.provide(
          Layer.mergeAll(DashboardSessions.layer, Deliveries.layer, Running.layer).pipe(
            Layer.provideMerge(servicesOf(database)),
          ),
        ),
      ),
    )

  it.effect("finds a session until it expires, is ended, or its user is disabled; and stores a digest only", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const sessions = yield* DashboardSessions.DashboardSessions
        const token = yield* sessions.begin(session("u1"))
        const other = yield* sessions.begin(session("u2"))
        const [entry] = yield* sessions.list("u1")
        const ada = { id: "u1", name: "Ada", email: "", signInId: entry?.id }
        assert.deepStrictEqual(yield* sessions.find(token), ada)
        assert.isUndefined(yield* sessions.find(Redacted.make(`${Redacted.value(token)}x`)))
        const sql = yield* SqlClient.SqlClient
        assert.notInclude(JSON.stringify(yield* sql`SELECT * FROM dashboard_sessions`), Redacted.value(token))
        yield* sessions.end(other)
        yield* sessions.end(other)
        assert.isUndefined(yield* sessions.find(other))
        yield* TestClock.adjust(DashboardSessions.SESSION_LIFETIME_MILLIS - 1)
        assert.deepStrictEqual(yield* sessions.find(token), ada)
        yield* TestClock.adjust(1)
        assert.isUndefined(yield* sessions.find(token))
        assert.deepStrictEqual(yield* sessions.list("u1"), [])
        yield* sessions.begin(session("u1"))
        assert.lengthOf(yield* sql`SELECT * FROM dashboard_sessions`, 1)
      }),
    ),
  )

  it.effect("records where a session was opened and when it was used, to the minute", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const sessions = yield* DashboardSessions.DashboardSessions
        const userAgent = `Browser\u0000\ud800${"x".repeat(1_000)}`
        const token = yield* sessions.begin({ ...session("u1"), address: "192.0.2.9", userAgent })
        yield* TestClock.setTime(59_999)
        yield* sessions.find(token)
        const [entry] = yield* sessions.list("u1")
        assert.deepInclude(entry, { address: "192.0.2.9", createdAt: 0, lastUsedAt: 0 })
        assert.match(entry?.userAgent ?? "", /^Browser\ufffd\ufffdx+$/)
        assert.lengthOf(entry?.userAgent ?? "", 256)
        yield* TestClock.setTime(60_000)
        yield* sessions.find(token)
        assert.strictEqual((yield* sessions.list("u1"))[0]?.lastUsedAt, 60_000)
      }),
    ),
  )

  it.effect(
    "ends all sessions of a user who is disabled or whose password is changed, but the one that changed it",
    () =>
      given(
        Effect.gen(function* () {
          yield* prepare()
          const sessions = yield* DashboardSessions.DashboardSessions
          const users = yield* Users
          const audit = yield* Audit
          const password = Redacted.make("a long enough password")
          const eve = yield* users.create({ name: "Eve", email: "eve@example.test", password })
          const account = Effect.flatMap(users.account("EVE@example.test"), (found) =>
            found === undefined ? Effect.die("no account") : Effect.succeed(found),
          )
          const proved = yield* account
          const begin = Effect.flatMap(account, ({ epoch }) => sessions.begin(session(eve.id, epoch)))
          const [here, there] = [yield* begin, yield* begin]
          const kept = (yield* sessions.find(here))?.signInId ?? ""
          const next = Redacted.make("another long password")
          const changed = yield* users.changePassword(proved, next, kept)
          assert.notStrictEqual(changed.epoch, proved.epoch)
          assert.isDefined(yield* sessions.find(here))
          assert.isUndefined(yield* sessions.find(there))
          // a sign-in that proved the old password, and begins only now, is over from its start
          const late = yield* sessions.begin(session(eve.id, proved.epoch))
          assert.isUndefined(yield* sessions.find(late))
          // who read the old password cannot change the new one
          const again = yield* Effect.flip(users.changePassword(proved, next, kept))
          assert.deepInclude(again, { code: "PASSWORD_WRONG" })
          yield* users.setPassword(eve.id, next, "by command")
          assert.isUndefined(yield* sessions.find(here))
          const last = yield* begin
          yield* users.setDisabled(eve.id, true)
          yield* users.setDisabled(eve.id, false)
          assert.isUndefined(yield* sessions.find(last))
          const actions = (yield* audit.list(eve.id, {})).items.map(({ action }) => action)
          assert.sameMembers(actions, [
            "user.created",
            "user.password_changed",
            "user.password_changed",
            "user.disabled",
            "user.enabled",
          ])
        }),
      ),
  )

  it.effect("shows what runs, as it is counted against the account's limit, and nobody else's", () =>
    given(
      Effect.gen(function* () {
        const { gateKeyId: keyId, shop, webCampaign } = yield* prepare()
        const running = yield* Running.Running
        const sessions = yield* WebSessions
        const states = Effect.map(running.of("u1"), (all) => all.sessions.map(({ kind, state }) => [kind, state]))
        assert.deepStrictEqual(yield* states, [])
        const { session, token } = yield* sessions.initiate({
          keyId,
          business: shop,
          campaign: webCampaign,
          regionId: "eu",
          clientIdentifier: "me",
          configuration: {},
        })
        assert.deepStrictEqual(yield* states, [["web", "waiting"]])
        yield* sessions.join(session.webSessionId, Redacted.value(token))
        yield* TestClock.adjust(1)
        yield* (yield* Calls).initiate({ keyId, business: shop, regionId: "eu", toNumber: "+4930901820" })
        const first = yield* running.of("u1")
        assert.strictEqual(first.limit, 2)
        assert.strictEqual(first.sessions.length, yield* sessions.running("u1"))
        assert.deepInclude(first.sessions[0], { kind: "call", state: "queued", clientIdentifier: "+4930901820" })
        assert.deepInclude(first.sessions[1], { kind: "web", state: "talking", webCampaignId: "c1" })
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual((yield* states)[0], ["call", "ringing"])
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual((yield* states)[0], ["call", "active"])
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(yield* states, [["web", "talking"]])
        yield* sessions.end(session.webSessionId)
        assert.deepStrictEqual(yield* states, [])
        assert.deepStrictEqual((yield* running.of("u2")).sessions, [])
      }),
    ),
  )

  it.effect("sends again what waits or was given up, not what was delivered, and only for its user", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const deliveries = yield* Deliveries.Deliveries
        const webhooks = yield* Webhooks
        const message = { userId: "u1", businessId: "b1", webCampaignId: "c1", webSessionId: "w1", body: "{}" }
        yield* webhooks.enqueue(message)
        const settle = (taken: boolean) =>
          Effect.gen(function* () {
            const [claimed] = yield* webhooks.claim(1)
            if (claimed === undefined) return yield* Effect.die("nothing was due")
            return yield* webhooks.settle(claimed, taken, taken ? "HTTP 200" : "HTTP 503")
          })
        assert.strictEqual(yield* settle(false), "pending")
        assert.lengthOf(yield* webhooks.claim(1), 0)
        const [waiting] = (yield* deliveries.list("u1", {}, { state: "pending" })).items
        const id = waiting?.id ?? ""
        assert.deepInclude(waiting, { attempts: 1, lastOutcome: "HTTP 503", nextAttemptAt: 1_000 })
        assert.deepInclude(yield* Effect.flip(deliveries.sendAgain("u2", id)), { code: "DELIVERY_NOT_FOUND" })
        assert.deepInclude(yield* deliveries.sendAgain("u1", id), { id, nextAttemptAt: 0 })
        yield* TestClock.adjust("1 day")
        assert.strictEqual(yield* settle(false), "given_up")
        assert.lengthOf(yield* webhooks.claim(1), 0)
        const [over] = (yield* deliveries.list("u1", {}, { state: "given_up", businessId: "b1" })).items
        assert.deepInclude(over, { id, attempts: 2, nextAttemptAt: null })
        yield* deliveries.sendAgain("u1", id)
        assert.strictEqual(yield* settle(true), "delivered")
        assert.deepInclude(yield* Effect.flip(deliveries.sendAgain("u1", id)), { code: "DELIVERED_ALREADY" })
        assert.lengthOf((yield* deliveries.list("u1", {}, { businessId: "b2" })).items, 0)
        assert.lengthOf((yield* deliveries.list("u2", {}, {})).items, 0)
      }),
    ),
  )

  it.effect("sends all again that failed since a time, and nothing else", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const deliveries = yield* Deliveries.Deliveries
        const webhooks = yield* Webhooks
        const audit = yield* Audit
        const message = { userId: "u1", businessId: "b1", webCampaignId: "c1", webSessionId: "w1", body: "{}" }
        /** one message, attempted once */
        const attempted = (taken: boolean, from: object = {}) =>
          Effect.gen(function* () {
            yield* webhooks.enqueue({ ...message, ...from })
            const [claimed] = yield* webhooks.claim(1)
            if (claimed === undefined) return yield* Effect.die("nothing was due")
            yield* webhooks.settle(claimed, taken, taken ? "HTTP 200" : "HTTP 503")
            return claimed.id
          })
        const due = Effect.map(deliveries.list("u1", {}, {}), ({ items }) =>
          items.filter(({ nextAttemptAt }) => nextAttemptAt === 86_400_000).map(({ id }) => id),
        )
        yield* attempted(false)
        yield* TestClock.setTime(86_400_000)
        // what is due is not attempted here
        yield* deliveries.sendFailedAgain("u1", 0)
        for (const claimed of yield* webhooks.claim(10)) yield* webhooks.settle(claimed, false, "HTTP 503")
        const failed = yield* attempted(false)
        const other = yield* attempted(false, { businessId: "b2" })
        yield* attempted(true)
        assert.strictEqual(yield* deliveries.sendFailedAgain("u2", 0), 0)
        assert.deepStrictEqual(yield* due, [])
        assert.strictEqual(yield* deliveries.sendFailedAgain("u1", 86_400_000, "b1"), 1)
        assert.deepStrictEqual(yield* due, [failed])
        assert.strictEqual(yield* deliveries.sendFailedAgain("u1", 86_400_000), 2)
        assert.sameMembers([...(yield* due)], [failed, other])
        assert.strictEqual(yield* deliveries.sendFailedAgain("u1", 0), 3)
        const details = (yield* audit.list("u1", {})).items.flatMap(({ action, detail, subjectId }) =>
          action === "webhooks.resent" ? [`${subjectId}: ${detail}`] : [],
        )
        assert.sameMembers(details, [
          "all: 1 failed since 1970-01-01T00:00:00.000Z",
          "b1: 1 failed since 1970-01-02T00:00:00.000Z",
          "all: 2 failed since 1970-01-02T00:00:00.000Z",
          "all: 3 failed since 1970-01-01T00:00:00.000Z",
        ])
      }),
    ),
  )

  it.effect(
    "counts conversations by hour, and finds them by their caller, their id and what was said, and only so far",
    () =>
      given(
        Effect.gen(function* () {
          yield* prepare()
          const conversations = yield* Conversations
          const hour = 3_600_000
          yield* TestClock.setTime(30 * hour)
          const begin = (id: string, caller: string, startedAt: number, texts: ReadonlyArray<string>, userId = "u1") =>
            conversations.begin(
              userId,
              {
                id,
                businessId: userId === "u1" ? "b1" : "b3",
                kind: "web",
                sourceId: id,
                clientIdentifier: caller,
                startedAt,
                endedAt: startedAt + 60_000,
              },
              texts.map((text, i) => ({ role: "caller", text, at: startedAt + i * hour })),
            )
          yield* begin("too-early", "Ada", 5 * hour, ["Where is my order?"])
          yield* begin("first", "Ada", 6 * hour, ["100 % sure?"])
          yield* begin("second", "Grace", 29.5 * hour, ["Where is my ORDER?", "in the future: booking"])
          yield* begin("last", "50_50", 30 * hour - 1, ["Nothing"])
          yield* begin("other", "Ada", 29 * hour, ["order"], "u2")
          const hours = yield* conversations.byHour("u1", 30 * hour)
          assert.deepStrictEqual(hours, [1, ...Array.from({ length: 22 }, () => 0), 2])
          assert.deepStrictEqual(yield* conversations.usageCount("u1", { from: 29 * hour }), { count: 2, seconds: 60 })
          const found = (search: string) =>
            Effect.map(conversations.usage("u1", {}, { search }), ({ items }) => items.map(({ id }) => id))
          assert.deepStrictEqual(yield* found("my order"), ["second", "too-early"])
          assert.deepStrictEqual(yield* found("aDA"), ["first", "too-early"])
          assert.deepStrictEqual(yield* found("SECO"), ["second"])
          // what a pattern of LIKE would read as a wildcard is itself
          assert.deepStrictEqual(yield* found("100 %"), ["first"])
          assert.deepStrictEqual(yield* found("%"), ["first"])
          assert.deepStrictEqual(yield* found("0_5"), ["last"])
          assert.deepStrictEqual(yield* found("!"), [])
          assert.deepStrictEqual(yield* found("booking"), [])
          yield* TestClock.setTime(31 * hour)
          assert.deepStrictEqual(yield* found("booking"), ["second"])
          const excerpts = yield* conversations.excerpts(["second", "too-early", "first"], "ORDER")
          assert.deepStrictEqual(Object.fromEntries(excerpts), {
            "too-early": { role: "caller", at: 5 * hour, before: "Where is my ", text: "order", after: "?" },
            second: { role: "caller", at: 29.5 * hour, before: "Where is my ", text: "ORDER", after: "?" },
          })
          assert.deepStrictEqual([...(yield* conversations.excerpts([], "order"))], [])
          const page = yield* conversations.usage("u1", { limit: 1 }, { search: "order" })
          const next = yield* conversations.usage("u1", { limit: 1, nextCursor: page.nextCursor }, { search: "order" })
          assert.deepStrictEqual(
            [...page.items, ...next.items].map(({ id }) => id),
            ["second", "too-early"],
          )
        }),
      ),
  )

  it("shows what is around what was found, cut between words", () => {
    const long = `${"one two ".repeat(40)}My Needle here ${"three four ".repeat(40)}`
    const { after, before, text } = excerptOf({ role: "agent", at: 1, text: long }, "nEEDLE")
    assert.strictEqual(text, "Needle")
    assert.match(before, /^…(?:one |two )+My $/)
    assert.match(after, /^ here (?:three |four )*(?:three|four)…$/)
    assert.isAtMost(before.length + after.length, 125)
    assert.strictEqual(excerptOf({ role: "agent", at: 1, text: "Un CAFÉ noir" }, "café").text, "CAFÉ")
    // half a letter of two units is never shown
    const smileys = "😀".repeat(60)
    const cut = excerptOf({ role: "agent", at: 1, text: `${smileys}x${smileys}` }, "x")
    assert.isTrue(cut.before.isWellFormed() && cut.after.isWellFormed())
  })

  it.effect("searches the newest conversations, as many as it may", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const conversations = yield* Conversations
        const sql = yield* SqlClient.SqlClient
        yield* TestClock.setTime(1_000_000)
        const insert = (id: string, count: number, startedAt: number, caller: string) => sql`
          INSERT INTO conversations (id, user_id, business_id, kind, source_id, client_identifier, started_at, ended_at)
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
          SELECT CAST(${id} AS TEXT) || i, 'u1', 'b1', 'web', 's', CAST(${caller} AS TEXT), ${startedAt} + i, NULL FROM n`
        yield* insert("old-", 1, 0, "needle")
        yield* insert("new-", SEARCHED - 1, 10, "hay")
        const found = Effect.map(conversations.list("b1", {}, { search: "needle" }), ({ items }) => items.length)
        assert.strictEqual(yield* found, 1)
        yield* insert("newer-", 1, 100_000, "hay")
        assert.strictEqual(yield* found, 0)
        // a filter leaves fewer
        yield* insert("call-", 1, 0, "needle")
        yield* sql`UPDATE conversations SET kind = 'call' WHERE id = 'call-1'`
        const calls = yield* conversations.list("b1", {}, { search: "needle", kind: "call" })
        assert.strictEqual(calls.items.length, 1)
      }),
    ),
  )

  it.effect("searches the first turns of each conversation, in small statements with pauses, page by page", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const conversations = yield* Conversations
        yield* TestClock.setTime(1_000_000)
        const begin = (id: string, startedAt: number, text: string, turn: number) =>
          conversations.begin(
            "u1",
            {
              ...{ id, businessId: "b1", kind: "web" as const, sourceId: id, clientIdentifier: "ada" },
              ...{ startedAt, endedAt: startedAt },
            },
            Array.from({ length: turn + 1 }, (_, i) => ({
              role: "caller" as const,
              text: i === turn ? text : "hay",
              at: startedAt,
            })),
          )
        yield* begin("last-turn", 1, "needle", SEARCHED_TURNS - 1)
        yield* begin("too-late", 2, "needle", SEARCHED_TURNS)
        for (let n = 3; n < 100; n++) yield* begin(`hay-${n}`, n, n % 30 === 0 ? "needle" : "hay", 0)
        let pauses = 0
        let isOver = false
        const others = yield* Effect.forkChild(
          Effect.gen(function* () {
            while (!isOver) {
              pauses++
              yield* Effect.yieldNow
            }
          }),
        )
        const pages: Array<string> = []
        const ids = ({ items }: { readonly items: ReadonlyArray<{ readonly id: string }> }) =>
          items.map(({ id }) => id).join(" ")
        let at = yield* conversations.list("b1", { limit: 2 }, { search: "needle" })
        isOver = true
        yield* Fiber.join(others)
        // 99 conversations are five statements
        assert.isAtLeast(pauses, 4)
        pages.push(ids(at))
        at = yield* conversations.list("b1", { limit: 2, nextCursor: at.nextCursor }, { search: "needle" })
        pages.push(ids(at))
        assert.isNull(at.nextCursor)
        at = yield* conversations.list("b1", { limit: 2, previousCursor: at.previousCursor }, { search: "needle" })
        pages.push(ids(at))
        assert.deepStrictEqual(pages, ["hay-90 hay-60", "hay-30 last-turn", "hay-90 hay-60"])
      }),
    ),
  )

  it.effect("lists of the audit log what is about one kind of subject, page by page", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const audit = yield* Audit
        for (const subject of ["1", "2", "3"]) {
          yield* TestClock.adjust("1 minute")
          yield* audit.record("u1", "webhooks.resent", subject, "")
          yield* audit.record("u1", "web_campaign.changed", subject, "")
        }
        yield* audit.record("u2", "webhooks.resent", "another user's", "")
        const first = yield* audit.list("u1", { limit: 2 }, "webhooks")
        const rest = yield* audit.list("u1", { limit: 2, nextCursor: first.nextCursor }, "webhooks")
        const shown = [first, rest].map(({ items }) => items.map(({ action, subjectId }) => `${action} ${subjectId}`))
        assert.deepStrictEqual(shown, [["webhooks.resent 3", "webhooks.resent 2"], ["webhooks.resent 1"]])
        assert.isNull(rest.nextCursor)
        const all = yield* audit.list("u1", { limit: 100 })
        assert.includeMembers(
          all.items.map(({ action }) => action),
          ["webhooks.resent", "web_campaign.changed", "user.created"],
        )
      }),
    ),
  )

  it.effect("sums up webhooks: the newest, and how many have failed since a time or are tried again", () =>
    given(
      Effect.gen(function* () {
        yield* prepare()
        const deliveries = yield* Deliveries.Deliveries
        const webhooks = yield* Webhooks
        assert.deepStrictEqual(yield* deliveries.summary("u1", 0), { last: null, failed: 0, retrying: 0 })
        const message = { userId: "u1", businessId: "b1", webCampaignId: "c1", webSessionId: "w1", body: "{}" }
        yield* webhooks.enqueue(message)
        // one that was never tried is no failure
        assert.deepInclude(yield* deliveries.summary("u1", 0), { failed: 0, retrying: 0 })
        for (const claimed of yield* webhooks.claim(1)) yield* webhooks.settle(claimed, false, "HTTP 503")
        // one that is tried again counts however old it is
        assert.deepInclude(yield* deliveries.summary("u1", 1), { failed: 0, retrying: 1 })
        yield* TestClock.adjust("1 day")
        for (const claimed of yield* webhooks.claim(1)) yield* webhooks.settle(claimed, false, "HTTP 503")
        yield* webhooks.enqueue(message)
        for (const claimed of yield* webhooks.claim(1)) yield* webhooks.settle(claimed, true, "HTTP 200")
        const { last, ...counts } = yield* deliveries.summary("u1", 0)
        assert.deepStrictEqual(counts, { failed: 1, retrying: 0 })
        assert.deepInclude(last, { state: "delivered", createdAt: 86_400_000 })
        assert.deepInclude(yield* deliveries.summary("u1", 1), { failed: 0, retrying: 0 })
        assert.deepStrictEqual(yield* deliveries.summary("u2", 0), { last: null, failed: 0, retrying: 0 })
      }),
    ),
  )
})
