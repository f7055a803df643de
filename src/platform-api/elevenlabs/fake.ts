/** The API of ElevenLabs Agents in memory, with its webhooks. A conversation is in its history once a page has opened it. */

import { type FakeVendor, fakeApi, fakeCalls, type VendorAnswer, type VendorRequest } from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "key-of-the-fake-elevenlabs"
const SECRET = "webhook-secret-of-the-fake-elevenlabs"
const AGENT = "agent_fake"

/** How long a signed address may be opened (ms). */
const ADDRESS_MILLIS = 15 * 60_000

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { detail: message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeElevenLabs = (now: () => number): FakeVendor => {
  const calls = fakeCalls("conv_")
  const opened = new Set<string>()
  const openBefore = new Map<string, number>()

  const answer = ({ headers, path, query }: VendorRequest): VendorAnswer => {
    if (headers.get("xi-api-key") !== KEY) return refusal(401, "invalid_api_key")
    const [, id = ""] = /^\/v1\/convai\/conversations\/([^/]+)$/.exec(path) ?? []
    if (path === `/v1/convai/agents/${AGENT}`) {
      const agent_concurrency_limit = Number.isFinite(calls.limit()) ? calls.limit() : -1
      const platform_settings = { queueing_config: { enabled: false }, call_limits: { agent_concurrency_limit } }
      const conversation_config = { conversation: { max_duration_seconds: 600 } }
      return { status: 200, body: { agent_id: AGENT, conversation_config, platform_settings } }
    }
    if (path === "/v1/convai/analytics/live-count") return { status: 200, body: { count: calls.inUse() } }
    if (path === "/v1/convai/settings") {
      const webhooks = { post_call_webhook_id: "webhook_fake", events: ["transcript", "call_initiation_failure"] }
      return { status: 200, body: { webhooks } }
    }
    if (path === "/v1/convai/conversation/get-signed-url" && query.get("agent_id") === AGENT) {
      const call = calls.start({})
      if (call === undefined) return refusal(429, "Too many concurrent requests")
      openBefore.set(call.id, now() + ADDRESS_MILLIS)
      const address = new URL("wss://api.elevenlabs.example/v1/convai/conversation")
      address.searchParams.set("agent_id", AGENT)
      if (query.get("include_conversation_id") === "true") address.searchParams.set("conversation_id", call.id)
      address.searchParams.set("conversation_signature", call.bearer)
      return { status: 200, body: { signed_url: String(address) } }
    }
    if (!opened.has(id)) return refusal(404, "not_found")
    return { status: 200, body: { conversation_id: id, status: calls.isRunning(id) ? "in-progress" : "done" } }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = Math.floor(now() / 1000)
    const headers = { "elevenlabs-signature": `t=${time},v0=${hmacSha256(SECRET, `${time}.${rawBody}`, "hex")}` }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "elevenlabs",
      MaxConcurrency: 1,
      ElevenLabs: { ApiKey: KEY, AgentId: AGENT, WebhookSecret: SECRET },
    },
    setLimit: calls.setLimit,
    join: (credential) => {
      const id = credential.shape === "url" ? calls.opened(credential.url) : undefined
      if (id === undefined || opened.has(id) || now() >= (openBefore.get(id) ?? 0)) return undefined
      opened.add(id)
      return id
    },
    isRunning: calls.isRunning,
    hangUp: (id) =>
      calls.end(id) && webhook({ type: "post_call_transcription", data: { agent_id: AGENT, conversation_id: id } }),
    webhook,
  }
}
