/** Deepgram's API in memory. Its token opens several sessions; it tells nobody when one is over. */
import {
  type FakeVendor,
  fakeApi,
  fakeTokens,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"

const KEY = "key-of-the-fake-deepgram"

const refusal = (status: number, code: string, message: string): VendorAnswer => ({
  status,
  body: { err_code: code, err_msg: message },
})

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeDeepgram = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("session-", now)

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Token ${KEY}`) return refusal(401, "INVALID_AUTH", "Invalid credentials.")
    if (`${method} ${path}` !== "POST /v1/auth/grant") return refusal(404, "NOT_FOUND", "no such path")
    const seconds = Number(field(body, "ttl_seconds") ?? 30)
    if (!(seconds >= 1 && seconds <= 3_600)) return refusal(400, "Bad Request", "ttl_seconds")
    return { status: 200, body: { access_token: tokens.grant(seconds), expires_in: seconds } }
  }

  return {
    ...fakeApi(answer),
    settings: { Platform: "deepgram", MaxConcurrency: 1, Deepgram: { ApiKey: KEY, AgentId: "agent-fake" } },
    setLimit: tokens.setLimit,
    join: (credential) => (credential.shape === "url+token" ? tokens.open(credential.token) : undefined),
    isRunning: tokens.isRunning,
    hangUp: (id) => void tokens.end(id),
    heldUntilExpiry: true,
    webhook: (body) => ({ headers: {}, rawBody: JSON.stringify(body) }),
  }
}
