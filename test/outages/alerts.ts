/** Which of the alerts of a platform's state fire, from the state that the metrics have shown every second. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

const rules = readFileSync(join(import.meta.dirname, "../../scripts/deploy/prometheus-rules.yaml"), "utf8")

/** For how many seconds the condition of an alert must hold, by the rules. */
const forOf = (alert: string): number => {
  const [, number = "", unit = ""] = new RegExp(`alert: ${alert}\\n[^]*?for: (\\d+)([sm])`).exec(rules) ?? []
  if (number === "") throw new Error(`there is no alert ${alert}`)
  return Number(number) * (unit === "m" ? 60 : 1)
}

const ALERTS: ReadonlyArray<readonly [alert: string, states: RegExp]> = [
  ["VoicegatePlatformUnavailable", /^unavailable/],
  ["VoicegatePlatformRejected", /^rejected/],
  ["VoicegatePlatformFull", /^(?:at_capacity|rate_limited)/],
]

/** The alerts that fire after so many seconds, and those whose condition holds, but not yet for long enough. */
export const alertsAt = (states: ReadonlyArray<string>, at: number): ReadonlyArray<string> =>
  ALERTS.flatMap(([alert, shown]) => {
    const until = states.slice(0, at).findLastIndex((state) => !shown.test(state))
    const seconds = at - (until + 1)
    if (seconds === 0) return []
    return [seconds >= forOf(alert) ? `${alert} fires` : `${alert} pending for ${seconds} s`]
  })
