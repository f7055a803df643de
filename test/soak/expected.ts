/** The answers that a gate may give a caller, depending on the caller's behaviour and on the platform's failures. */
import { type Answer, field } from "../harness/http.ts"
import type { Caller } from "./plan.ts"
import type { World } from "./world.ts"

/** Whether this is an expected answer to a request that was not queued. */
export const expectedAnswer = ({ platform }: World, { id, kind }: Caller, answer: Answer): boolean => {
  const code = field(answer, "code") ?? ""
  switch (answer.status) {
    case 200:
      return kind !== "vpn"
    case 403:
      return kind === "vpn" && code === "blocked"
    case 429:
      return kind === "heavy" && code === "rate_limited"
    case 502:
      return platform.failed(id) && code === "platform_rejected"
    case 422:
      return platform.failed(id) && code === "request_refused"
    case 503:
      return code === "queue_full" || (platform.failedStarts(id, "early") > 0 && code === "platform_unavailable")
    default:
      return false
  }
}

/** The meaning of a refused start: the caller keeps waiting, the visit ends, or the refusal is unexpected. */
export const expectedRefusal = (
  { platform }: World,
  { id, mood }: Caller,
  code: string,
): "waits" | "over" | "unexpected" => {
  switch (code) {
    // at the head of the queue again, to be called again
    case "agent_busy":
      return platform.failedStarts(id, "capacity") > 0 ? "waits" : "unexpected"
    case "agent_unavailable":
      return platform.failedStarts(id, "unavailable", "ghost") > 0 ? "waits" : "unexpected"
    // it came too late, or after the caller had left
    case "ticket_over":
      return mood === "late" || mood === "leaves" ? "over" : "unexpected"
    // the caller moved while a start on its old channel was in progress
    case "start_in_progress":
      return mood === "moves" ? "waits" : "unexpected"
    case "platform_rejected":
    case "request_refused":
    case "platform_unavailable":
      return platform.failed(id) ? "over" : "unexpected"
    default:
      return "unexpected"
  }
}

/** Whether a ticket may end for this reason; a hub reports `hub` instead of a reason. */
export const expectedEnd = ({ platform }: World, { id, mood }: Caller, reason: string, started: boolean): boolean => {
  switch (reason) {
    case "ended":
      return started
    case "reclaimed":
      return started && platform.lostEnd(id)
    case "left":
      return mood === "leaves"
    case "missed":
      return mood === "late" || mood === "never"
    case "failed":
    case "hub":
      return platform.failed(id)
    default:
      return false
  }
}
