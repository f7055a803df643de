/** How long until order is restored: a new request is answered, and a free slot calls the next waiting ticket. */
import { setTimeout as sleep } from "node:timers/promises"
import { ask, field } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import type { Rig } from "./rig.ts"

export interface OrderBack {
  /** ms until a new request was answered */
  readonly request: number
  /** ms until somebody was called; undefined when nobody was waiting any more */
  readonly call: number | undefined
}

/** Each attempt is a different caller to the platform, across several measurements too. */
let attempts = 0

/** Requests as a new caller until it is answered, then gives back what it got. */
const answered = async ({ options, platform, seats }: Rig, since: number, deadline: number): Promise<number> => {
  for (let n = 0; performance.now() < deadline; n++) {
    const url = seats[n % seats.length]?.url ?? ""
    const answer = await ask("POST", `${url}/api/session/request`, {
      headers: { "x-forwarded-for": "198.19.0.1" },
      body: { campaignId: options.campaign, clientIdentifier: `order-${attempts++}` },
    }).catch(() => undefined)
    if (answer?.status === 200 || answer?.status === 202) {
      const took = performance.now() - since
      const ticket = field(answer, "uniqueRequestId") ?? ""
      const session = field(answer, "sessionId")
      if (session !== undefined) void platform.talk(session, 10)
      else await ask("DELETE", `${url}/api/session/${ticket}`).catch(() => undefined)
      return took
    }
    await sleep(25)
  }
  throw new Error("no new request was answered")
}

/** Measures from `since`; fails when order is not restored in time. */
export const orderBack = async (rig: Rig, since: number, withinMillis = 90_000): Promise<OrderBack> => {
  const request = await answered(rig, since, since + withinMillis)
  const callers = rig.crowds.flatMap((crowd) => crowd.callers)
  let call: number | undefined
  await eventually(
    "somebody is called",
    () => {
      const times = callers.flatMap((caller) => [...caller.calls.values()]).filter((at) => at > since)
      if (times.length > 0) call = Math.min(...times) - since
      return call !== undefined || callers.every((caller) => caller.outcome !== undefined)
    },
    withinMillis,
  )
  return { request, call }
}

export const seconds = (millis: number | undefined): string =>
  millis === undefined ? "–" : `${(millis / 1000).toFixed(1)} s`

/** Both times in words. */
export const inWords = ({ call, request }: OrderBack): string =>
  `request ${seconds(request)}, next call ${seconds(call)}`
