/**
 * Preloaded into a gate (`--import`): its clocks stop while the process is stopped, like those of a suspended machine.
 * Monotonic time always does, and with it all timers. The wall clock continues, like one that is set on resuming,
 * unless `CHAOS_WALL` is `stands`.
 */
import { hrtime } from "node:process"

/** A process that has not read the time for this long was stalled: a gate reads it every second. */
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
/** A timer that fires after less time than it was set for has slept: it is set again. */
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
