/** Vapi's API in memory, with its webhooks. */
import { DateTime } from "effect"
import {
  type FakeCall,
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "private-key-of-the-fake-vapi"
const SECRET = "webhook-secret-of-the-fake-vapi"
const ASSISTANT = "assistant-fake"

const refusal = (status: number, message: string): VendorAnswer => ({
  status,
  body: { statusCode: status, message, error: "Error" },
})

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeVapi = (now: () => number): FakeVendor => {
  const calls = fakeCalls("call-")
  const created = new Map<string, string>()
  const shown = ({ bearer, id, metadata, running }: FakeCall) => ({
    id,
    createdAt: created.get(id),
    type: "webCall",
    status: running ? "in-progress" : "ended",
    assistantId: ASSISTANT,
    assistantOverrides: { metadata },
    webCallUrl: `https://vapi.daily.example/${bearer}`,
    transport: { provider: "daily", callUrl: `https://vapi.daily.example/${bearer}`, callToken: `token-${id}` },
    artifactPlan: { videoRecordingEnabled: true, recordingEnabled: true },
    assistant: { voice: { provider: "tavus" }, model: { messages: ["the prompt, which pages must not learn"] } },
    monitor: { controlUrl: `https://control.vapi.ai/${id}/control` },
  })

  const answer = ({ body, headers, method, path, query }: VendorRequest): VendorAnswer => {
    const [, controlled] = /^\/([^/]+)\/control$/.exec(path) ?? []
    if (controlled !== undefined) {
      // the control address is another host's, and must not get the key
      if (headers.has("authorization")) return refusal(400, "unexpected authorization")
      if (field(body, "type") === "end-call") calls.end(controlled)
      return { status: 200, body: {} }
    }
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "Invalid Key")
    const [, id = ""] = /^\/call\/([^/]+)$/.exec(path) ?? []
    switch (`${method} ${path}`) {
      case `GET /assistant/${ASSISTANT}`:
        return { status: 200, body: { id: ASSISTANT } }
      case "GET /call": {
        const upTo = query.get("createdAtLe") ?? undefined
        const found = calls.newestFirst().filter(({ id }) => upTo === undefined || (created.get(id) ?? "") <= upTo)
        return { status: 200, body: found.slice(0, Number(query.get("limit"))).map(shown) }
      }
      case "POST /call/web": {
        const started = calls.start(field(body, "assistantOverrides", "metadata"))
        if (started === undefined) return refusal(400, "Over Concurrency Limit.")
        created.set(started.id, DateTime.formatIso(DateTime.makeUnsafe(now())))
        const subscriptionLimits = {
          concurrencyBlocked: false,
          concurrencyLimit: calls.limit(),
          remainingConcurrentCalls: calls.limit() - calls.inUse() + 1,
        }
        return { status: 201, body: { ...shown(started), subscriptionLimits } }
      }
      default: {
        const call = calls.find(id)
        return call === undefined ? refusal(404, "Not found") : { status: 200, body: shown(call) }
      }
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = String(now())
    const headers = { "x-timestamp": time, "x-signature": hmacSha256(SECRET, `${time}.${rawBody}`, "hex") }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "vapi",
      MaxConcurrency: 1,
      Vapi: { ApiKey: KEY, AssistantId: ASSISTANT, WebhookSecret: SECRET },
    },
    setLimit: calls.setLimit,
    join: (credential) => (credential.shape === "url" ? calls.opened(credential.url) : undefined),
    isRunning: calls.isRunning,
    hangUp: (id) => {
      const call = calls.end(id)
      return call && webhook({ message: { type: "status-update", status: "ended", call: shown(call) } })
    },
    webhook,
  }
}
