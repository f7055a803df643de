/** Whether a webhook is the platform's, and which session it names. */
import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import { sign } from "../../../src/lib/standard-webhooks.ts"
import { type SignedRequest, sessionIdsOf, verifyWebhook } from "../../../src/platform-api/iqra/webhooks.ts"
import { TOLERANCE_MILLIS } from "../../../src/platform-api/webhooks/times.ts"

const TOLERANCE_SECONDS = TOLERANCE_MILLIS / 1000

// the published vector of Standard Webhooks
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const signedAt = 1_614_265_330
const vector: SignedRequest = {
  apiToken: undefined,
  webhookId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  webhookTimestamp: String(signedAt),
  webhookSignature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  rawBody: '{"test": 2432232314}',
  socketAddress: "127.0.0.1",
  forwarded: false,
}
const other = `whsec_${Buffer.from("another secret of enough bytes").toString("base64")}`

interface Proofs {
  readonly tokens?: ReadonlyArray<string>
  readonly secrets?: ReadonlyArray<string>
  readonly local?: boolean
}

const security = (proofs: Proofs) => ({
  LocalWebhooks: proofs.local ?? true,
  WebhookApiToken: (proofs.tokens ?? []).map((token) => Redacted.make(token)),
  WebhookSigningSecret: (proofs.secrets ?? []).map((each) => Redacted.make(each)),
})
const signed = security({ secrets: [secret] })
const verify = (request: Partial<SignedRequest>, settings = signed, seconds = signedAt) =>
  verifyWebhook(settings, { ...vector, ...request }, seconds * 1000)

it("without a campaign of the default platform, no webhook is accepted that nothing proves, not even this machine's", () => {
  const none = security({})
  const verifyUnused = (settings: typeof none, request: Partial<SignedRequest> = {}) =>
    verifyWebhook(settings, { ...vector, ...request }, signedAt * 1000, false)
  expect(verify({}, none)).toBeUndefined()
  expect(verifyUnused(none)).toMatch(/^No campaign uses the default platform/)
  expect(verifyUnused(signed)).toBeUndefined()
  const tokens = security({ tokens: ["the-token-of-the-owner"] })
  expect(verifyUnused(tokens, { apiToken: "the-token-of-the-owner" })).toBeUndefined()
})

it("without token and secret, none is accepted by a gate that other machines reach, not even this machine's", () => {
  expect(verify({}, security({ local: false }))).toMatch(/without one, webhooks are refused/)
  expect(verify({ apiToken: "" }, security({ local: false }))).toMatch(/^Set Security.WebhookApiToken/)
  expect(verify({}, security({ local: true }))).toBeUndefined()
})

describe("a signature", () => {
  it("a signature of the standard's test vector passes at its own time", () => {
    expect(verify({})).toBeUndefined()
    expect(sign(secret, vector.webhookId ?? "", String(signedAt), vector.rawBody)).toBe(vector.webhookSignature)
  })

  it("passes five minutes before and after its time, and no longer", () => {
    expect(verify({}, signed, signedAt + TOLERANCE_SECONDS)).toBeUndefined()
    expect(verify({}, signed, signedAt - TOLERANCE_SECONDS)).toBeUndefined()
    expect(verify({}, signed, signedAt + TOLERANCE_SECONDS + 1)).toMatch(/^webhook-timestamp: /)
    expect(verify({}, signed, signedAt - TOLERANCE_SECONDS - 1)).toMatch(/^webhook-timestamp: /)
  })

  it("passes among several, and versions that are not known are skipped", () => {
    const good = vector.webhookSignature
    expect(verify({ webhookSignature: `v1a,AAAA v1,AAAA ${good}` })).toBeUndefined()
    expect(verify({ webhookSignature: `${good} v2,AAAA` })).toBeUndefined()
    expect(verify({ webhookSignature: good?.replace("v1,", "v2,") })).toMatch(/^webhook-signature: /)
    expect(verify({ webhookSignature: good?.slice("v1,".length) })).toMatch(/^webhook-signature: /)
    expect(verify({ webhookSignature: "" })).toMatch(/^webhook-signature: /)
  })

  it("passes under either of two secrets", () => {
    const both = security({ secrets: [other, secret] })
    const byOther = sign(other, vector.webhookId ?? "", String(signedAt), vector.rawBody)
    expect(verify({}, both)).toBeUndefined()
    expect(verify({ webhookSignature: byOther }, both)).toBeUndefined()
    expect(verify({ webhookSignature: byOther })).toMatch(/^webhook-signature: /)
  })

  it.each([
    ["body", { rawBody: '{"test":2432232314}' }],
    ["id", { webhookId: "msg_another" }],
    ["timestamp", { webhookTimestamp: String(signedAt + 1) }],
  ])("fails when the %s is not what was signed, byte for byte", (_what, change) => {
    expect(verify(change)).toMatch(/^webhook-signature: /)
  })

  it.each([["webhookId"], ["webhookTimestamp"], ["webhookSignature"]])(
    "a signature without %s is told which headers are expected",
    (name) => {
      expect(verify({ [name]: undefined })).toBe("Expected webhook-id, webhook-timestamp and webhook-signature.")
    },
  )

  it.each([["soon"], [""], ["-1"], ["1614265330.5"], ["1e9"], ["9".repeat(20)]])(
    "a signature at the time %j is refused",
    (time) => {
      expect(verify({ webhookTimestamp: time })).toMatch(/^webhook-timestamp: /)
    },
  )
})

describe("a token", () => {
  const tokens = security({ tokens: ["old-token", "new-token"] })
  const bare = { webhookId: undefined, webhookTimestamp: undefined, webhookSignature: undefined }

  it("passes when it is either of two", () => {
    expect(verify({ ...bare, apiToken: "old-token" }, tokens)).toBeUndefined()
    expect(verify({ ...bare, apiToken: "new-token" }, tokens)).toBeUndefined()
  })

  it.each([["wrong"], [""], ["new-token "], ["new-toke"]])("is refused when it is %j", (apiToken) => {
    expect(verify({ ...bare, apiToken }, tokens)).toBe("x-api-token: The token is wrong.")
  })

  it("is required if there is none", () => {
    expect(verify(bare, tokens)).toMatch(/^x-api-token: Expected /)
  })

  it("a token or a signature passes if both are configured, and a wrong token does not", () => {
    const both = security({ tokens: ["token"], secrets: [secret] })
    expect(verify({}, both)).toBeUndefined()
    expect(verify({ ...bare, apiToken: "token" }, both)).toBeUndefined()
    expect(verify({ apiToken: "wrong" }, both)).toBe("x-api-token: The token is wrong.")
    expect(verify(bare, both)).toMatch(/^Expected x-api-token, or /)
  })

  it("is ignored if only signatures are configured", () => {
    expect(verify({ apiToken: "anything" })).toBeUndefined()
  })

  it("is not needed from this machine if no secret is configured", () => {
    for (const socketAddress of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      expect(verify({ ...bare, socketAddress }, security({}))).toBeUndefined()
    }
  })

  it("is required from elsewhere and through a proxy", () => {
    const none = security({})
    expect(verify({ ...bare, socketAddress: "192.0.2.1" }, none)).toMatch(/Security\.WebhookApiToken/)
    expect(verify({ ...bare, socketAddress: undefined }, none)).toMatch(/Security\.WebhookApiToken/)
    expect(verify({ ...bare, forwarded: true }, none)).toMatch(/Security\.WebhookApiToken/)
  })
})

describe("the ids in a body", () => {
  it.each([
    [{ ConversationSessionId: "a" }, ["a"]],
    [{ conversationSessionId: "a" }, ["a"]],
    [{ WebSessionId: "a" }, ["a"]],
    [{ webSessionId: "a", conversationSessionId: "b", more: "c" }, ["a", "b"]],
    [{ ConversationSessionId: "a", WebSessionId: "a" }, ["a"]],
    [{ ConversationSessionId: 5, WebSessionId: "a" }, ["a"]],
  ])("the ids in a body of %j are %j", (body, ids) => {
    expect(sessionIdsOf(body)).toEqual(ids)
  })

  it.each([
    [null],
    ["a"],
    [["a"]],
    [{}],
    [{ ConversationSessionId: "" }],
    [{ ConversationSessionId: null }],
    [{ ConversationSessionId: "x".repeat(257) }],
    [{ id: "a" }],
  ])("the ids in a body of %j are none", (body) => {
    expect(sessionIdsOf(body)).toBeUndefined()
  })
})
