/** Looks at the budgets of one caller, as twins like the scripts of the limiter. */
import { OPEN } from "../../src/limits/units.ts"
import type { Reply, Script } from "../../src/Store.ts"
import { list, text } from "../../src/store/reply.ts"

/** KEYS 1 log; Reply the tokens of all units, and of those whose ticket is open */
export const limitsProbe: Script = {
  name: "test.limits",
  numberOfKeys: 1,
  lua: `return {redis.call('ZRANGE', KEYS[1], 0, -1), redis.call('ZRANGEBYSCORE', KEYS[1], '${OPEN}', '+inf')}`,
  memory: (db, [log = ""]) =>
    [Number.NEGATIVE_INFINITY, OPEN].map((from) =>
      db.zrangebyscore(log, from, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    ),
}

export const limitsOf = (reply: Reply): { readonly log: ReadonlySet<string>; readonly open: ReadonlySet<string> } => {
  const [log, open] = list(reply)
  return { log: new Set(list(log).map(text)), open: new Set(list(open).map(text)) }
}
