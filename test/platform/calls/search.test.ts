/** What a search in conversations costs. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeSearch } from "../../../src/platform/calls/search.ts"
import { layer } from "../../../src/platform/data/sqlite.ts"

const CONVERSATIONS = 40
const TURNS = 50

const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE conversations (id TEXT PRIMARY KEY, user_id TEXT, client_identifier TEXT, started_at INT)`
  yield* sql`CREATE TABLE turns (conversation_id TEXT, position INT, text TEXT, said_at INT,
    PRIMARY KEY (conversation_id, position))`
  for (let n = 0; n < CONVERSATIONS; n++) {
    yield* sql`INSERT INTO conversations VALUES (${`c${n}`}, 'u', null, ${n})`
    const turns = Array.from({ length: TURNS }, (_, position) => ({
      ...{ conversation_id: `c${n}`, position },
      ...{ text: "a".repeat(2_000), said_at: 0 },
    }))
    const [first, ...others] = turns
    if (first !== undefined) yield* sql`INSERT INTO turns ${sql.insert([first, ...others])}`
  }
})

it.effect("a search of many letters in transcripts of one letter takes little time", () =>
  Effect.gen(function* () {
    yield* prepare
    const sql = yield* SqlClient.SqlClient
    const part = { from: undefined, backwards: false, count: 21 }
    const search = (sought: string) =>
      Effect.map(makeSearch(sql)(sql`user_id = 'u'`, sought, 1, part), ({ length }) => length)
    assert.strictEqual(yield* search("A".repeat(200)), 21)
    const before = process.cpuUsage()
    assert.strictEqual(yield* search(`${"a".repeat(199)}b`), 0)
    const { user } = process.cpuUsage(before)
    // 4 million letters; a pattern of LIKE takes seconds for them
    assert.isBelow(user, 700_000)
  }).pipe(Effect.provide(layer(":memory:"))),
)
