/**
 * Loaded before the program (`node --import`): its clock begins an hour ago, and runs fast until it has caught up. So charts have an
 * hour of calls after three minutes. Timers run as fast as the clock.
 */
import { caughtUpAt, clockAt, FASTER } from "./pace.ts"

const { now } = Date
const began = now()
/** How long `millis` of the simulated clock take from now on. */
const realTime = (millis: number): number => {
  const left = Math.max(0, caughtUpAt(began) - now())
  return millis <= left * FASTER ? millis / FASTER : left + millis - left * FASTER
}

const World = Date
class FastDate extends World {
  constructor(...given: ReadonlyArray<unknown>) {
    if (given.length === 0) super(clockAt(began, now()))
    else super(...(given as [number]))
  }
  static override now(): number {
    return clockAt(began, now())
  }
}
const hrtime = process.hrtime.bigint
const firstTick = hrtime()
const { performance, setTimeout } = globalThis
Object.assign(globalThis, {
  Date: FastDate,
  setTimeout: Object.assign(
    (run: (...given: Array<unknown>) => void, millis = 0, ...given: Array<unknown>) =>
      setTimeout(run, realTime(millis), ...given),
    setTimeout,
  ),
})
/** Since the beginning, by the program's clock, in milliseconds. */
const passed = (): number => clockAt(began, began + Number(hrtime() - firstTick) / 1e6) - clockAt(began, began)
const start = performance.now()
performance.now = () => start + passed()
process.hrtime.bigint = () => BigInt(Math.round(passed() * 1e6))
