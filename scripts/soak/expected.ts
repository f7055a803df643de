/** What a gate may say to a caller, by what the caller does and what the platform has spoilt. */
import { type Answer, field } from "../../test/e2e/support/http.ts"
import type { Caller } from "./plan.ts"
import type { World } from "./world.ts"

/** Whether this may be the answer to a request that was not queued. */
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
      return code === "queue_full" || (platform.spoilt(id, "early") > 0 && code === "platform_unavailable")
    default:
      return false
  }
}

/** What the refusal of a start means: the caller waits on, or the visit is over, or it should not have been. */
export const expectedRefusal = (
  { platform }: World,
  { id, mood }: Caller,
  code: string,
): "waits" | "over" | "unexpected" => {
  switch (code) {
    // at the head of the line again, to be called anew
    case "agent_busy":
      return platform.spoilt(id, "capacity") > 0 ? "waits" : "unexpected"
    case "agent_unavailable":
      return platform.spoilt(id, "unavailable", "ghost") > 0 ? "waits" : "unexpected"
    // it came too late, or was overtaken by the caller's own leaving
    case "ticket_over":
      return mood === "late" || mood === "leaves" ? "over" : "unexpected"
    // it moved while it was being started over its old line
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

/** Whether a ticket may be over for this reason; `hub` is what a hub says instead of any. */
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
