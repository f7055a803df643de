import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Webhooks } from "../../src/platform/Webhooks.ts"
import { layerMemory, STATUS, TOKEN_LIFETIME_MILLIS, WebSessions } from "../../src/platform/WebSessions.ts"
import { makeSeed } from "./support.ts"

const { seed } = makeSeed({ url: "http://127.0.0.1:9/" })
const user = seed.users[0]
const business = seed.businesses[0]
const campaign = business?.webCampaigns[0]
if (!user || !business || !campaign) throw new Error("the seed lacks what the tests need")
const wanted = { user, business, campaign, regionId: "eu", clientIdentifier: null }

/** The sessions, and the bodies of the session-ended that were sent. */
const withSessions = <A, E>(use: (sessions: WebSessions["Service"], sent: Array<unknown>) => Effect.Effect<A, E>) => {
  const sent: Array<unknown> = []
  const webhooks = Layer.succeed(Webhooks, {
    send: (_target, body) => Effect.sync(() => void sent.push(JSON.parse(body))),
  })
  return Effect.flatMap(WebSessions, (sessions) => use(sessions, sent)).pipe(
    Effect.provide(layerMemory.pipe(Layer.provide(webhooks))),
  )
}

describe("web sessions", () => {
  it.effect("never exceed the user's concurrency, also when many start at once", () =>
    withSessions((sessions) =>
      Effect.gen(function* () {
        const starts = Array.from({ length: 10 }, () => Effect.exit(sessions.initiate(wanted)))
        const exits = yield* Effect.all(starts, { concurrency: "unbounded" })
        assert.strictEqual(exits.filter((exit) => exit._tag === "Success").length, 2)
        assert.strictEqual(yield* sessions.running(user.id), 2)
        assert.strictEqual((yield* Effect.flip(sessions.initiate(wanted))).limit, 2)
      }),
    ),
  )

  it.effect("open once, by their own token", () =>
    withSessions((sessions) =>
      Effect.gen(function* () {
        const first = yield* sessions.initiate(wanted)
        const second = yield* sessions.initiate(wanted)
        const token = Redacted.value(first.token)
        yield* Effect.flip(sessions.join(second.session.webSessionId, token))
        yield* Effect.flip(sessions.join("unknown", token))
        yield* Effect.flip(sessions.join(first.session.webSessionId, ""))
        yield* sessions.join(first.session.webSessionId, token)
        yield* Effect.flip(sessions.join(first.session.webSessionId, token))
      }),
    ),
  )

  it.effect("expire when nobody opens them for five minutes, and say so", () =>
    withSessions((sessions, sent) =>
      Effect.gen(function* () {
        const { session, token } = yield* sessions.initiate(wanted)
        yield* TestClock.adjust(TOKEN_LIFETIME_MILLIS - 1)
        assert.strictEqual(yield* sessions.running(user.id), 1)
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* sessions.running(user.id), 0)
        yield* Effect.flip(sessions.join(session.webSessionId, Redacted.value(token)))
        const found = yield* sessions.find("b1", session.webSessionId)
        assert.deepInclude(found, { status: STATUS.Expired, endedAt: TOKEN_LIFETIME_MILLIS, joinedAt: null })
        assert.deepStrictEqual(sent, [
          { ConversationSessionId: session.conversationSessionId, WebSessionId: session.webSessionId },
        ])
      }),
    ),
  )

  it.effect("do not expire once opened, and end exactly once", () =>
    withSessions((sessions, sent) =>
      Effect.gen(function* () {
        const { session, token } = yield* sessions.initiate(wanted)
        yield* sessions.join(session.webSessionId, Redacted.value(token))
        yield* TestClock.adjust(TOKEN_LIFETIME_MILLIS * 10)
        assert.strictEqual(yield* sessions.running(user.id), 1)
        assert.lengthOf(sent, 0)
        yield* Effect.all([sessions.end(session.webSessionId), sessions.end(session.webSessionId)], { concurrency: 2 })
        yield* sessions.end(session.webSessionId)
        assert.strictEqual(yield* sessions.running(user.id), 0)
        assert.lengthOf(sent, 1)
      }),
    ),
  )

  it.effect("are found by their business only", () =>
    withSessions((sessions) =>
      Effect.gen(function* () {
        const { session } = yield* sessions.initiate(wanted)
        assert.strictEqual((yield* sessions.find("b1", session.webSessionId))?.webCampaignId, "c1")
        assert.isUndefined(yield* sessions.find("b2", session.webSessionId))
      }),
    ),
  )
})
