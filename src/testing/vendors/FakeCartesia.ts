/** Cartesia's API in memory, with the webhooks of its agents, which have the secret itself and no signature. */
import { type FakeVendor, fakeApi, fakeTokens, field, type VendorAnswer, type VendorRequest } from "./fake-vendor.ts"

const KEY = "key-of-the-fake-cartesia"
const SECRET = "webhook-secret-of-the-fake-cartesia"
const AGENT = "agent_fake"

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeCartesia = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("call-", now)

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (!headers.has("cartesia-version")) return refusal(400, "Cartesia-Version is missing")
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "Invalid API key")
    switch (`${method} ${path}`) {
      case `GET /agents/${AGENT}`:
        return { status: 200, body: { id: AGENT } }
      case "POST /access-token": {
        const seconds = Number(field(body, "expires_in"))
        if (field(body, "grants", "agent") !== true || !(seconds > 0 && seconds <= 3_600)) return refusal(400, "grants")
        return { status: 200, body: { token: tokens.grant(seconds) } }
      }
      default:
        return refusal(404, "not found")
    }
  }

  const webhook = (body: unknown) => ({ headers: { "x-webhook-secret": SECRET }, rawBody: JSON.stringify(body) })

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "cartesia",
      MaxConcurrency: 1,
      Cartesia: { ApiKey: KEY, AgentId: AGENT, WebhookSecret: SECRET },
    },
    setLimit: tokens.setLimit,
    join: (credential) =>
      credential.shape === "url+token" ? tokens.open(credential.token, credential.details?.streamId) : undefined,
    isRunning: tokens.isRunning,
    hangUp: (id) => {
      const call = tokens.end(id)
      // without a name from the page, the vendor names the stream
      return call && webhook({ type: "call_completed", request_id: call.ours ?? id, agent_id: AGENT, body: [] })
    },
    webhook,
  }
}
