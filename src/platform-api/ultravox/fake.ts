/** Ultravox's API in memory, with its webhooks. */
import { DateTime } from "effect"
import {
  type FakeCall,
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  pageOf,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "key-of-the-fake-ultravox"
const SECRET = "webhook-secret-of-the-fake-ultravox"
const AGENT = "agent-fake"

const refusal = (status: number, detail: string): VendorAnswer => ({ status, body: { detail } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeUltravox = (now: () => number): FakeVendor => {
  const calls = fakeCalls("call-")
  const joinBefore = new Map<string, number>()
  const isoNow = (): string => DateTime.formatIso(DateTime.makeUnsafe(now()))
  const created = new Map<string, string>()
  const shown = ({ id, metadata, running }: FakeCall) => ({
    callId: id,
    created: created.get(id),
    ended: running ? null : isoNow(),
    metadata,
  })

  const answer = ({ body, headers, method, path, query }: VendorRequest): VendorAnswer => {
    if (headers.get("x-api-key") !== KEY) return refusal(401, "Invalid API key")
    const [, id = "", message] = /^\/api\/calls\/([^/]+)(\/send_data_message)?$/.exec(path) ?? []
    const call = calls.find(id)
    if (call !== undefined && message === undefined) return { status: 200, body: shown(call) }
    if (call !== undefined) {
      if (field(body, "type") === "hang_up") calls.end(id)
      return { status: 204 }
    }
    switch (`${method} ${path}`) {
      case `GET /api/agents/${AGENT}`:
        return { status: 200, body: { agentId: AGENT } }
      case "GET /api/accounts/me":
        return { status: 200, body: { activeCalls: calls.inUse(), allowedConcurrentCalls: calls.limit() } }
      case "GET /api/webhooks": {
        const hook = { url: "https://gate.example/api/webhook/ultravox", events: ["call.ended"], agentId: null }
        return { status: 200, body: { results: [{ webhookId: "webhook-1", status: "normal", ...hook }], next: null } }
      }
      case "GET /api/calls": {
        const wanted = [...query].flatMap(([name, value]) =>
          name.startsWith("metadata.") ? [[name.slice(9), value]] : [],
        )
        const found = calls
          .newestFirst()
          .filter(({ metadata }) => wanted.every(([name = "", value]) => field(metadata, name) === value))
        const { items, next } = pageOf(found, Number(query.get("pageSize")), query.get("cursor"))
        const address = next === undefined ? null : `https://api.ultravox.ai/api/calls?cursor=${next}`
        return { status: 200, body: { results: items.map(shown), next: address, previous: null } }
      }
      case `POST /api/agents/${AGENT}/calls`: {
        const started = calls.start(field(body, "metadata"))
        if (started === undefined) return refusal(429, "Concurrent call limit reached")
        created.set(started.id, isoNow())
        joinBefore.set(started.id, now() + Number.parseInt(String(field(body, "joinTimeout")), 10) * 1000)
        const joinUrl = `wss://ultravox.example/calls/${started.id}?token=${started.bearer}`
        return { status: 201, body: { ...shown(started), joinUrl } }
      }
      default:
        return refusal(404, "Not found")
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = isoNow()
    const signature = hmacSha256(SECRET, rawBody + time, "hex")
    // an older key's signature comes first while keys are rotated
    const headers = {
      "x-ultravox-webhook-timestamp": time,
      "x-ultravox-webhook-signature": `${hmacSha256("an older key", rawBody + time, "hex")},${signature}`,
    }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "ultravox",
      MaxConcurrency: 1,
      Ultravox: { ApiKey: KEY, AgentId: AGENT, WebhookSecret: SECRET, GateUrl: "https://gate.example" },
    },
    setLimit: calls.setLimit,
    join: (credential) => {
      const id = credential.shape === "url" ? calls.opened(credential.url) : undefined
      return id !== undefined && now() < (joinBefore.get(id) ?? 0) ? id : undefined
    },
    isRunning: calls.isRunning,
    hangUp: (id) => {
      const call = calls.end(id)
      return call && webhook({ event: "call.ended", call: shown(call) })
    },
    webhook,
  }
}
