/**
 * Preloaded into a gate (`--import`): its clocks stand still while the process does, as those of a machine that is suspended.
 * Monotonic time always does, and with it all timers; the wall clock goes on, as one that is set on waking, unless `CHAOS_WALL`
 * is `stands`.
 */
import { hrtime } from "node:process"

/** A process that has not asked for the time for so long stood still: a gate asks every second. */
const STILL_NANOS = 5_000_000_000n

const real = hrtime.bigint.bind(hrtime)
const wall = Date.now.bind(Date)
const now = performance.now.bind(performance)
let last = real()
let lost = 0n
const look = (): bigint => {
  const at = real()
  if (at - last > STILL_NANOS) lost += at - last
  last = at
  return at
}
const lostMillis = (): number => {
  look()
  return Number(lost / 1_000_000n)
}

hrtime.bigint = () => look() - lost
performance.now = () => now() - lostMillis()

const later = setTimeout
/** A timer that is due while less time has passed than it was set for has slept: it is set anew. */
globalThis.setTimeout = new Proxy(later, {
  apply: (target, self, [run, millis = 0, ...args]) => {
    const due = performance.now() + millis - 1
    const timer: NodeJS.Timeout = Reflect.apply(target, self, [
      () => {
        if (performance.now() < due) timer.refresh()
        else run(...args)
      },
      millis,
    ])
    return timer
  },
})
if (process.env.CHAOS_WALL === "stands") {
  Date.now = () => wall() - lostMillis()
  globalThis.Date = new Proxy(Date, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
  })
}
