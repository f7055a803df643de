/** Hume's API in memory, with the webhooks of its Empathic Voice Interface. */
import { hmacSha256 } from "../../platform-api/signatures.ts"
import { type FakeVendor, fakeApi, fakeTokens, field, type VendorAnswer, type VendorRequest } from "./fake-vendor.ts"

const KEY = "key-of-the-fake-hume"
const SECRET_KEY = "secret-key-of-the-fake-hume"
const SECRET = "webhook-secret-of-the-fake-hume"
const CONFIG = "config-fake"
/** How long a token is valid (s). */
const TOKEN_SECONDS = 1_800

const refusal = (status: number, message: string): VendorAnswer => ({ status, body: { message } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeHume = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("chat-", now)
  const basic = `Basic ${Buffer.from(`${KEY}:${SECRET_KEY}`).toString("base64")}`

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    switch (`${method} ${path}`) {
      case "POST /oauth2-cc/token":
        if (headers.get("authorization") !== basic) return refusal(401, "invalid client")
        if (field(body, "grant_type") !== "client_credentials") return refusal(400, "unsupported grant type")
        return {
          status: 200,
          body: { access_token: tokens.grant(TOKEN_SECONDS), token_type: "bearer", expires_in: TOKEN_SECONDS },
        }
      case `GET /v0/evi/configs/${CONFIG}`:
        return headers.get("x-hume-api-key") === KEY
          ? { status: 200, body: { configs_page: [{ id: CONFIG }] } }
          : refusal(401, "Invalid ApiKey")
      default:
        return refusal(404, "not found")
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = String(Math.floor(now() / 1000))
    const signature = hmacSha256(SECRET, `${rawBody}.${time}`, "hex")
    return { headers: { "x-hume-ai-webhook-timestamp": time, "x-hume-ai-webhook-signature": signature }, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "hume",
      MaxConcurrency: 1,
      Hume: { ApiKey: KEY, SecretKey: SECRET_KEY, ConfigId: CONFIG, WebhookSecret: SECRET },
    },
    setLimit: tokens.setLimit,
    join: (credential) =>
      credential.shape === "token" ? tokens.open(credential.token, credential.details?.customSessionId) : undefined,
    isRunning: tokens.isRunning,
    hangUp: (id) => {
      const call = tokens.end(id)
      return (
        call &&
        webhook({
          event_name: "chat_ended",
          chat_id: id,
          chat_group_id: "group-1",
          config_id: CONFIG,
          custom_session_id: call.ours ?? null,
          end_reason: "USER_ENDED",
          duration_seconds: 60,
          end_time: now(),
        })
      )
    },
    webhook,
  }
}
