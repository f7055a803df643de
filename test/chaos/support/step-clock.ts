/**
 * Preloaded into a gate (`--import`): steps its wall clock, as a time server does to correct it. The file that
 * `CHAOS_CLOCK` names contains the milliseconds; SIGUSR2 makes the gate read it. Monotonic time continues, as it does
 * in reality.
 */
import { readFileSync } from "node:fs"

const file = process.env.CHAOS_CLOCK ?? ""
const real = Date.now.bind(Date)
let shift = 0
const step = (): void => {
  shift = Number(readFileSync(file, "utf8"))
}
step()
process.on("SIGUSR2", step)

Date.now = () => real() + shift
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
})
