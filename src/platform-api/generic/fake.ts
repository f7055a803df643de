/** A made-up vendor for campaigns of the platform `generic`: its REST API answers a start with an address and a token. */

import {
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "key-of-the-fake-vendor"
const SECRET = "webhook-secret-of-the-fake-vendor"
const AGENT = "agent-fake"

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeGeneric = (now: () => number): FakeVendor => {
  const calls = fakeCalls("session-")
  const joinBefore = new Map<string, number>()

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "wrong key")
    const [, id = "", action = ""] = /^\/v1\/sessions\/([^/]+)(\/end)?$/.exec(path) ?? []
    const call = calls.find(id)
    if (call !== undefined) {
      if (action !== "") calls.end(id)
      return { status: 200, body: { state: calls.isRunning(id) ? "active" : "closed" } }
    }
    if (method !== "POST" || path !== `/v1/agents/${AGENT}/sessions`) return refusal(404, "no such agent or session")
    const started = calls.start(field(body, "data"))
    if (started === undefined) return refusal(429, "all lines are busy")
    joinBefore.set(started.id, now() + Number(field(body, "ttl")) * 1000)
    return {
      status: 200,
      body: { result: { id: started.id, address: "wss://vendor.example/join", token: started.bearer } },
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = String(Math.floor(now() / 1000))
    const headers = { "x-time": time, "x-signature": `sha256=${hmacSha256(SECRET, `${time}.${rawBody}`, "hex")}` }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "generic",
      MaxConcurrency: 1,
      Generic: {
        BaseUrl: "https://vendor.example/v1",
        AgentId: AGENT,
        Headers: [`Authorization: Bearer ${KEY}`],
        StartPath: "agents/{{agent}}/sessions",
        StartBody:
          '{"ttl":"{{lifetimeSeconds}}","data":"{{metadata}}","inputs":"{{variables}}","note":"for {{correlationId}}"}',
        SessionIdField: "result.id",
        UrlField: "result.address",
        TokenField: "result.token",
        AtCapacity: "all lines are busy",
        StatusPath: "sessions/{{sessionId}}",
        StatusField: "state",
        OverStatuses: ["closed"],
        EndPath: "sessions/{{sessionId}}/end",
        WebhookSecret: SECRET,
        WebhookHeader: "X-Signature",
        WebhookScheme: "hex",
        WebhookTimeHeader: "X-Time",
        WebhookIdField: "session.id",
        WebhookEventField: "event",
        WebhookEndEvents: ["session.closed"],
      },
    },
    setLimit: calls.setLimit,
    join: (credential) => {
      const id = credential.shape === "url+token" ? calls.opened(credential.token) : undefined
      return id !== undefined && now() < (joinBefore.get(id) ?? 0) ? id : undefined
    },
    isRunning: calls.isRunning,
    hangUp: (id) => calls.end(id) && webhook({ event: "session.closed", session: { id } }),
    webhook,
  }
}
