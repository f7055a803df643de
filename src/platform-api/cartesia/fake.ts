/**
 * Cartesia's API in memory, with the webhooks of its agents, which have the secret itself and no signature. A call has the id that its
 * page gave the stream, where it gave one.
 */
import { DateTime } from "effect"
import {
  type FakeVendor,
  fakeApi,
  fakeTokens,
  field,
  pageOf,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"

const KEY = "key-of-the-fake-cartesia"
const SECRET = "webhook-secret-of-the-fake-cartesia"
const AGENT = "agent_fake"

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeCartesia = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("call-", now)

  const shown = ({ at, id, ours }: ReturnType<typeof tokens.begun>[number]) => ({
    id: ours ?? id,
    agent_id: AGENT,
    status: tokens.isRunning(id) ? "active" : "completed",
    start_time: DateTime.formatIso(DateTime.makeUnsafe(at)),
  })

  const answer = ({ body, headers, method, path, query }: VendorRequest): VendorAnswer => {
    if (!headers.has("cartesia-version")) return refusal(400, "Cartesia-Version is missing")
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "Invalid API key")
    switch (`${method} ${path}`) {
      case `GET /agents/${AGENT}`:
        return { status: 200, body: { id: AGENT, webhook_id: "webhook_fake" } }
      case "GET /agents/calls": {
        const all = tokens.begun().map(shown)
        const from = all.findIndex(({ id }) => id === query.get("starting_after")) + 1
        const { items, next } = pageOf(all, Number(query.get("limit")), from)
        return { status: 200, body: { data: items, has_more: next !== undefined } }
      }
      case "POST /access-token": {
        const seconds = Number(field(body, "expires_in"))
        if (field(body, "grants", "agent") !== true || !(seconds > 0 && seconds <= 3_600)) return refusal(400, "grants")
        return { status: 200, body: { token: tokens.grant(seconds) } }
      }
      default: {
        const [, id] = /^\/agents\/calls\/([^/]+)$/.exec(path) ?? []
        const call = tokens.begun().find((each) => id !== undefined && (each.ours ?? each.id) === id)
        return call === undefined ? refusal(404, "not found") : { status: 200, body: shown(call) }
      }
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
      const found = tokens.begun().find((each) => each.id === id)
      return call && found && webhook({ type: "call_completed", call: { ...shown(found), end_reason: "user_hangup" } })
    },
    webhook,
  }
}
