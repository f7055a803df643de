/** Looks at the budgets of one caller, as twins like the scripts of the limiter. */
import type { Reply, Script } from "../../src/Store.ts"
import { list, text } from "../../src/store/reply.ts"

/** KEYS 1 log · 2 held; Reply the tokens of each */
export const limitsProbe: Script = {
  name: "test.limits",
  numberOfKeys: 2,
  lua: "return {redis.call('ZRANGE', KEYS[1], 0, -1), redis.call('ZRANGE', KEYS[2], 0, -1)}",
  memory: (db, keys) =>
    keys.map((key) =>
      db.zrangebyscore(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    ),
}

export const limitsOf = (reply: Reply): { readonly log: ReadonlySet<string>; readonly held: ReadonlySet<string> } => {
  const [log, held] = list(reply)
  return { log: new Set(list(log).map(text)), held: new Set(list(held).map(text)) }
}
