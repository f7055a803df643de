/** What a gate says of itself: that it could not reach the store, and that it goes. See `outage.ts`. */
import { forgive } from "./outage.ts"
import { script } from "./step.ts"

/**
 * This gate could not reach the store since a moment, or stood still. It says so before its next step, which may be what an outage
 * kept somebody from. Repeated, it gives little more than it gave.
 *
 * ARGV 6 since when (ms) · 7 presence of those who could not show it (ms)
 * Result `['forgiven']`
 */
export const back = script(
  "back",
  `
call('ZADD', GATES, int(now), self)
forgive(tonumber(ARGV[6]), ARGV[7])
return reply({'forgiven'})
`,
  (s) => {
    s.db.zadd(s.gates, s.now, s.self)
    forgive(s, Number(s.arg(0)), s.arg(1))
    return s.reply(["forgiven"])
  },
)

/**
 * This gate goes and is waited for no more.
 *
 * Result `['gone']`
 */
export const gone = script(
  "gone",
  `
call('ZREM', GATES, self)
return reply({'gone'})
`,
  (s) => {
    s.db.zrem(s.gates, s.self)
    return s.reply(["gone"])
  },
)
