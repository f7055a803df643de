/**
 * Known answers of the vendors' signatures. They were computed by another program (Python's hmac) from the vendors' documents, so that an
 * error which the gate and its fakes share would show. LiveKit's are checked by its own SDK, in `livekit.test.ts`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { VendorWebhook } from "../../src/platform-api/adapter.ts"
import { makeAdapter } from "../../src/platform-api/adapters.ts"
import { hmacSha256 } from "../../src/platform-api/signatures.ts"
import { treeOf } from "../settings/support.ts"

const NOW = Date.parse("2027-01-15T08:00:00Z")

const CASES: ReadonlyArray<{
  readonly platform: string
  readonly settings: object
  readonly rawBody: string
  readonly headers: Readonly<Record<string, string>>
  readonly session: string
  /** what the webhook means, where it is more than the end of the session */
  readonly meaning?: object
}> = [
  {
    platform: "retell",
    settings: { Retell: { ApiKey: "key_retell_0123456789", AgentId: "agent" } },
    rawBody: '{"event":"call_ended","call":{"call_id":"call_1","metadata":{"voicegate":"x"}}}',
    headers: {
      "x-retell-signature": "v=1800000000000,d=09d8c31c820537d06bbfc5f908e7011c845703ca27a6e31f9db4899b5a2d3e7a",
    },
    session: "call_1",
  },
  {
    platform: "elevenlabs",
    settings: { ElevenLabs: { ApiKey: "key", AgentId: "agent", WebhookSecret: "secret_elevenlabs_0123" } },
    rawBody: '{"type":"post_call_transcription","data":{"agent_id":"agent","conversation_id":"conv_1"}}',
    headers: {
      "elevenlabs-signature": "t=1800000000,v0=916c3af5d16d1be2631e2db64a00f2c1e3161b509b3b9d3dd2d7abb383ec746b",
    },
    session: "conv_1",
  },
  {
    platform: "ultravox",
    settings: { Ultravox: { ApiKey: "key", AgentId: "agent", WebhookSecret: "secret_ultravox_01234" } },
    rawBody:
      '{"event":"call.ended","call":{"callId":"call-1","ended":"2027-01-15T08:00:00Z","metadata":{"voicegate":"x"}}}',
    headers: {
      "x-ultravox-webhook-timestamp": "2027-01-15T08:00:00.000000Z",
      "x-ultravox-webhook-signature": "c500ede49c452a81d61be30419e26191340f369703ca7f101c1121c23bcf2723",
    },
    session: "call-1",
  },
  {
    platform: "vapi",
    settings: { Vapi: { ApiKey: "key", AssistantId: "assistant", WebhookSecret: "secret_vapi_012345678" } },
    rawBody:
      '{"message":{"type":"end-of-call-report","call":{"id":"call-1","assistantOverrides":{"metadata":{"voicegate":"x"}}}}}',
    headers: {
      "x-timestamp": "1800000000",
      "x-signature": "66bae4750cba4732bebe4344994e973d5fc960ad6391e206b2f2363c45d50bfa",
    },
    session: "call-1",
  },
  {
    platform: "daily",
    settings: {
      Daily: { ApiKey: "key", AgentId: "agent", WebhookSecret: "ZGFpbHkgc2VjcmV0IDAxMjM0NTY3ODlhYmNkZWY=" },
    },
    rawBody:
      '{"version":"1.0.0","type":"meeting.ended","id":"met-end-1","payload":{"room":"voicegate-1800000000-AAAAAAAAAAAAAAAAAAAAA1-agent","meeting_id":"m-1"},"event_ts":1800000000.5}',
    headers: {
      "x-webhook-timestamp": "1800000000000",
      "x-webhook-signature": "WYZqFvjiMBCgmBcwvAQ+4euatdFMdNadkBL1NDMfA8k=",
    },
    session: "voicegate-1800000000-AAAAAAAAAAAAAAAAAAAAA1-agent",
    meaning: { notBefore: 1_800_000_000_000 },
  },
]

const caseOf = (platform: string) => {
  const found = CASES.find((each) => each.platform === platform)
  if (found === undefined) throw new Error(`there is no case of ${platform}`)
  return found
}

const webhooksOf = (platform: string, settings: object) => {
  const VoiceAiPlatform = { Platform: platform, MaxConcurrency: 1, ...settings }
  const tree = treeOf({ VoiceAiPlatform, Server: { Host: "127.0.0.1" } })
  const { webhooks } = makeAdapter(tree.Campaigns[0], tree.Queue, () => Effect.die("nothing is sent"))
  if (webhooks === undefined) throw new Error(`${platform} sends webhooks`)
  return webhooks
}

describe("the signature of a webhook", () => {
  for (const { headers, meaning, platform, rawBody, session, settings } of CASES) {
    const { ended, verify } = webhooksOf(platform, settings)

    it(`of ${platform} is the known answer, and of these bytes alone`, () => {
      const webhook: VendorWebhook = { headers, rawBody }
      assert.isUndefined(verify(webhook, NOW))
      assert.deepStrictEqual(ended(JSON.parse(rawBody)), { _tag: "ended", sessions: [[session]], ...meaning })
      assert.isDefined(verify({ ...webhook, rawBody: rawBody.replace("1", "2") }, NOW))
      for (const [name, value] of Object.entries(headers)) {
        assert.isDefined(verify({ rawBody, headers: { ...headers, [name]: undefined } }, NOW), name)
        const changed = value.slice(0, -2) + (value.endsWith("a") ? "b0" : "a0")
        assert.isDefined(verify({ rawBody, headers: { ...headers, [name]: changed } }, NOW), name)
      }
    })
  }

  it("of Vapi may be the secret itself, in its own header", () => {
    const { rawBody, settings } = caseOf("vapi")
    const { verify } = webhooksOf("vapi", settings)
    assert.isUndefined(verify({ rawBody, headers: { "x-vapi-secret": "secret_vapi_012345678" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: { "x-vapi-secret": "another" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: {} }, NOW))
  })

  it("of Cartesia is the secret itself", () => {
    const { ended, verify } = webhooksOf("cartesia", {
      Cartesia: { ApiKey: "key", AgentId: "agent", WebhookSecret: "secret_cartesia_012345" },
    })
    const id = "voicegate-1800000030-AAAAAAAAAAAAAAAAAAAAA1"
    const rawBody = `{"type":"call_completed","request_id":"${id}","agent_id":"agent"}`
    assert.isUndefined(verify({ rawBody, headers: { "x-webhook-secret": "secret_cartesia_012345" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: { "x-webhook-secret": "secret_cartesia_01234" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: {} }, NOW))
    assert.deepStrictEqual(ended(JSON.parse(rawBody)), { _tag: "ended", sessions: [[id]] })
    for (const change of [{ type: "call_started" }, { agent_id: "another" }, { request_id: "MZ01" }]) {
      assert.deepStrictEqual(ended({ ...JSON.parse(rawBody), ...change }), { _tag: "ignored" }, JSON.stringify(change))
    }
  })

  it("of Daily may have its time in seconds, and is absent from the request that tests a new webhook alone", () => {
    const { ended, verify } = webhooksOf("daily", caseOf("daily").settings)
    const { session } = caseOf("daily")
    for (const room of [`${session}s`, session.replace(/agent$/, "other"), "room-agent", `x${session}`]) {
      assert.deepStrictEqual(ended({ type: "meeting.ended", payload: { room } }), { _tag: "ignored" }, room)
    }
    const test = '{"test":"test"}'
    assert.isUndefined(verify({ rawBody: test, headers: {} }, NOW))
    assert.deepStrictEqual(ended(JSON.parse(test)), { _tag: "ignored" })
    assert.isDefined(verify({ rawBody: '{"test":"test","type":"meeting.ended"}', headers: {} }, NOW))
    const signature = hmacSha256(Buffer.from("daily secret 0123456789abcdef"), `1800000000.${test} `, "base64")
    const headers = { "x-webhook-timestamp": "1800000000", "x-webhook-signature": signature }
    assert.isUndefined(verify({ rawBody: `${test} `, headers }, NOW))
  })

  it("of Ultravox may be one of several, while keys are rotated", () => {
    const { headers, rawBody, settings } = caseOf("ultravox")
    const { verify } = webhooksOf("ultravox", settings)
    const signature = headers["x-ultravox-webhook-signature"] ?? ""
    const several = { ...headers, "x-ultravox-webhook-signature": `${"0".repeat(64)}, ${signature}` }
    assert.isUndefined(verify({ rawBody, headers: several }, NOW))
  })
})
