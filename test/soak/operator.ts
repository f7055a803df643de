/** Background requests: the load balancer's health checks, the metrics scraper, and an operator with the console open. */
import { ask } from "../harness/http.ts"
import type { Ledger } from "./ledger.ts"
import type { Gates } from "./sessions.ts"

export const CONSOLE_TOKEN = "soak-console-token-0123456789"
const BEARER = { authorization: `Bearer ${CONSOLE_TOKEN}` }

const PERIODS = [
  ["/health/ready", 2_000],
  ["/metrics", 15_000],
  ["/console/api/view", 5_000],
] as const

/** Sends requests until it is stopped. */
export const startOperator = (gates: Gates, ledger: Ledger): (() => void) => {
  const timers = PERIODS.map(([path, millis]) =>
    setInterval(() => {
      for (const { agent, url } of gates()) {
        ask("GET", url + path, { headers: BEARER, agent }).then(
          ({ status, text }) => {
            if (status !== 200) ledger.problem("unexpected statuses", `${path} ${status} ${text}`)
          },
          (error: unknown) => ledger.problem("broken connections", `${path} ${String(error)}`),
        )
      }
    }, millis),
  )
  return () => {
    for (const timer of timers) clearInterval(timer)
  }
}

/** Drains or reopens the campaign, as the console does. */
export const switchCampaign = async (gates: Gates, type: "drain" | "reopen"): Promise<void> => {
  const [gate] = gates()
  const answer = await ask("POST", `${gate?.url}/console/api/actions`, { headers: BEARER, body: { action: { type } } })
  if (answer.status !== 200) throw new Error(`${type}: ${answer.status} ${answer.text}`)
}
