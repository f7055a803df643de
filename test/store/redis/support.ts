/** Rules that the tests of the Redis store run, and a store that is open as long as the scope. */
import { Effect, Layer } from "effect"
import { layer } from "../../../src/store/redis/layer.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import { type Ask, type Rule, Store } from "../../../src/store/Store.ts"
import { connectionTo } from "../../harness/stores.ts"

/** Counts its runs on a key. */
export const count: Rule<object, object, number> = {
  name: "test.count",
  run: (db, [key = ""]) => [db.hincrby(key, "n", 1)],
  lua: "-- test.count\nreturn cjson.encode({redis.call('HINCRBY', KEYS[1], 'n', 1)})\n",
  decode: Number,
  batch: false,
}
export const on = (key: string): Ask<object, object> => ({ keys: [key], now: 0, context: NO_CONTEXT, call: {} })

export const KEY = "vg:{written}"

/** Adds a member to a set at `KEY`. */
export const add: Rule<object, { readonly member: string }, number> = {
  name: "test.add",
  run: () => [1],
  lua: "-- test.add\nreturn cjson.encode({redis.call('SADD', KEYS[1], cjson.decode(ARGV[3]).member)})\n",
  decode: Number,
  batch: false,
}
export const adding = (member: string) => ({ keys: [KEY], now: 0, context: NO_CONTEXT, call: { member } })

export const opened = (url: string) =>
  Effect.flatMap(Layer.build(layer(connectionTo(url))), (built) => Effect.provide(Store, built))
