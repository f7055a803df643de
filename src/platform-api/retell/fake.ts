/** Retell's API in memory, with its webhooks. */

import {
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  pageOf,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "key_of_the_fake_retell"
const AGENT = "agent_fake"
/** How long a token may be used to join (ms). */
const TOKEN_MILLIS = 30_000

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { status: "error", message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeRetell = (now: () => number): FakeVendor => {
  const calls = fakeCalls("call_")
  const shown = ({ id, metadata, running }: { id: string; metadata: unknown; running: boolean }) => ({
    call_id: id,
    call_type: "web_call",
    agent_id: AGENT,
    call_status: running ? "ongoing" : "ended",
    metadata,
  })

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "API key is missing or invalid")
    const [, action, id = ""] = /^\/v2\/(get-call|stop-call)\/([^/]+)$/.exec(path) ?? []
    const call = calls.find(id)
    switch (`${method} ${action ?? path}`) {
      case `GET /get-agent/${AGENT}`:
        return { status: 200, body: { agent_id: AGENT } }
      case "GET /get-concurrency":
        return { status: 200, body: { current_concurrency: calls.inUse(), concurrency_limit: calls.limit() } }
      case "POST /v3/create-web-call": {
        if (field(body, "agent_id") !== AGENT) return refusal(404, "agent not found")
        const started = calls.start(field(body, "metadata"))
        if (started === undefined) return refusal(429, "Concurrency limit reached")
        return {
          status: 201,
          body: {
            call_id: started.id,
            access_token: started.bearer,
            transport: "gateway",
            ice_servers: [{ urls: ["stun:stun.example:3478"] }],
            expires_at: now() + TOKEN_MILLIS,
          },
        }
      }
      case "POST /v3/list-calls": {
        const { key, value } = Object(field(body, "filter_criteria", "metadata", "0"))
        const found = calls.newestFirst().filter(({ metadata }) => key === undefined || field(metadata, key) === value)
        const { items, next } = pageOf(found, Number(field(body, "limit")), field(body, "pagination_key"))
        const more = next === undefined ? {} : { pagination_key: next }
        return { status: 200, body: { items: items.map(shown), has_more: next !== undefined, ...more } }
      }
      case "GET get-call":
        return call === undefined ? refusal(404, "call not found") : { status: 200, body: shown(call) }
      case "POST stop-call":
        if (call === undefined) return refusal(404, "call not found")
        calls.end(id)
        return { status: 204 }
      default:
        return refusal(404, "no such path or agent")
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = String(now())
    const headers = { "x-retell-signature": `v=${time},d=${hmacSha256(KEY, rawBody + time, "hex")}` }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: KEY, AgentId: AGENT } },
    setLimit: calls.setLimit,
    join: (credential) => (credential.shape === "token" ? calls.opened(credential.token) : undefined),
    isRunning: calls.isRunning,
    hangUp: (id) => {
      const call = calls.end(id)
      return call && webhook({ event: "call_ended", call: shown(call) })
    },
    webhook,
  }
}
