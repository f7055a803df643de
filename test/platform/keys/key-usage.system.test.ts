/** What is counted of the starts of an API key, on both databases. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Calls, COMPLETES_MILLIS } from "../../../src/platform/calls/Calls.ts"
import { WebSessions } from "../../../src/platform/calls/WebSessions.ts"
import { KeyUsage, USAGE_DAYS } from "../../../src/platform/keys/KeyUsage.ts"
import { onEachEngine, servicesOf } from "../engines.ts"
import { prepare } from "../support.ts"

const DAY = 86_400_000

onEachEngine("the usage of a key", (engine) => {
  const started = Effect.gen(function* () {
    const context = yield* Layer.build(Layer.fresh(servicesOf(yield* engine.database)))
    const { gateKeyId: keyId, shop, webCampaign } = yield* Effect.provideContext(prepare(), context)
    const usage = Context.get(context, KeyUsage)
    const sessions = Context.get(context, WebSessions)
    const sql = Context.get(context, SqlClient.SqlClient)
    const wanted = { keyId, business: shop, regionId: "eu" }
    const configuration = {}
    const start = sessions.initiate({ ...wanted, campaign: webCampaign, clientIdentifier: null, configuration })
    return {
      keyId,
      usage,
      start,
      startAndEnd: Effect.tap(start, ({ session }) => sessions.end(session.webSessionId)),
      call: Context.get(context, Calls).initiate({ ...wanted, toNumber: "+15550100" }),
      /** days with a start: day, sessions, calls */
      used: Effect.map(usage.lastDays("u1", keyId), (days) =>
        days.flatMap(({ calls, day, sessions }) => (sessions + calls === 0 ? [] : [[day / DAY, sessions, calls]])),
      ),
      rows: Effect.map(sql<{ day: number }>`SELECT day FROM api_key_usage ORDER BY day`, (rows) =>
        rows.map(({ day }) => day),
      ),
    }
  })

  it.effect("is counted by day in UTC, sessions and calls apart, and is shown only to the key's user", () =>
    Effect.gen(function* () {
      const { call, keyId, startAndEnd, usage, used } = yield* started
      yield* TestClock.setTime(DAY - 1)
      yield* startAndEnd
      yield* TestClock.adjust(1)
      yield* startAndEnd
      yield* startAndEnd
      yield* call
      assert.deepStrictEqual(yield* used, [
        [0, 1, 0],
        [1, 2, 1],
      ])
      const days = yield* usage.lastDays("u1", keyId)
      assert.deepStrictEqual([days.length, days[0]?.day, days.at(-1)?.day], [USAGE_DAYS, -28 * DAY, DAY])
      assert.deepInclude(yield* Effect.flip(usage.lastDays("u2", keyId)), { code: "KEY_NOT_FOUND" })
    }),
  )

  it.effect("does not count a start that the account's limit refuses", () =>
    Effect.gen(function* () {
      const { call, start, used } = yield* started
      yield* start
      yield* call
      for (const refused of [Effect.asVoid(start), Effect.asVoid(call)]) {
        assert.deepInclude(yield* Effect.flip(refused), { _tag: "ConcurrencyLimitReached" })
      }
      assert.deepStrictEqual(yield* used, [[0, 1, 1]])
      yield* TestClock.adjust(COMPLETES_MILLIS)
      yield* Effect.all([call, Effect.ignore(call)], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* used, [[0, 1, 2]])
    }),
  )

  it.effect("is kept for 30 days", () =>
    Effect.gen(function* () {
      const { rows, startAndEnd, used } = yield* started
      for (let day = 0; day < USAGE_DAYS + 5; day++) {
        yield* startAndEnd
        yield* TestClock.adjust("1 day")
      }
      assert.deepStrictEqual(
        yield* rows,
        Array.from({ length: USAGE_DAYS }, (_, index) => index + 5),
      )
      // the oldest row is older than what is shown until the key is used again
      assert.lengthOf(yield* used, USAGE_DAYS - 1)
    }),
  )
})
