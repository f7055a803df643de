/** Reads the budgets of one caller, by a rule for tests only, whose Lua is written by hand. */
import { OPEN } from "../../src/rate-limiter/rules/units.ts"
import type { Rule } from "../../src/store/Store.ts"

/** The tokens of all units, and of those whose ticket is open. */
export interface Units {
  readonly log: ReadonlyArray<string>
  readonly open: ReadonlyArray<string>
}

/** Keys: a caller's log. */
export const limitsProbe: Rule<object, object, Units> = {
  name: "test.limits",
  lua: `local function tokens(from)
  local found = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf')
  return #found == 0 and '[]' or cjson.encode(found)
end
return '[{"log":' .. tokens('-inf') .. ',"open":' .. tokens('${OPEN}') .. '}]'`,
  run: (db, [log = ""], _now, _context, calls) => {
    const tokens = (from: number): ReadonlyArray<string> =>
      db.zrangebyscore(log, from, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
    return calls.map(() => ({ log: tokens(Number.NEGATIVE_INFINITY), open: tokens(OPEN) }))
  },
  decode: (answer) => answer as Units,
  batch: false,
}
