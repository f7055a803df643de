/**
 * Known answers of the vendors' signatures. They were computed by another program (Python's hmac) from the vendors' documents, so that an
 * error which the gate and its fakes share would show. LiveKit's are checked by its own SDK, in `livekit/adapter.test.ts`.
 */
import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { VendorWebhook } from "../../../src/platform-api/adapter.ts"
import { makeAdapter } from "../../../src/platform-api/adapters.ts"
import { hmacSha256 } from "../../../src/platform-api/shared/digests.ts"
import { treeOf } from "../../settings/support.ts"

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
    meaning: { notBefore: 1_800_000_000_000, meeting: "m-1" },
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

    it(`the signature of a webhook of ${platform} is the known answer, and of these bytes alone`, () => {
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

  describe("of Vapi", () => {
    const SECRET = "secret_vapi_012345678"
    const { rawBody, settings } = caseOf("vapi")
    const { refuses, verify } = webhooksOf("vapi", settings)
    const made = (text: string, algorithm: string, encoding: "hex" | "base64", secret = SECRET): string =>
      createHmac(algorithm, secret).update(text).digest(encoding)
    const TIME = "1800000000"
    const timed = `${TIME}.${rawBody}`

    it("may be the secret itself, as a bearer or in its own header", () => {
      for (const [name, value] of [
        ["authorization", `Bearer ${SECRET}`],
        ["x-vapi-secret", SECRET],
      ] as const) {
        assert.isUndefined(verify({ rawBody, headers: { [name]: value } }, NOW), name)
        assert.include(refuses?.({ [name]: value.replace("vapi", "other") }, NOW), `${name}: It is not the secret`)
      }
      for (const headers of [{}, { authorization: SECRET }, { authorization: "Bearer " }, { "x-vapi-secret": "" }]) {
        assert.isDefined(verify({ rawBody, headers }, NOW), JSON.stringify(headers))
      }
    })

    it("may have each algorithm, encoding, prefix and payload that Vapi offers", () => {
      const headersOf: ReadonlyArray<(algorithm: string, encoding: "hex" | "base64") => Record<string, string>> = [
        (algorithm, encoding) => ({ "x-signature": made(timed, algorithm, encoding), "x-timestamp": TIME }),
        (algorithm, encoding) => ({
          "x-signature": `${algorithm}=${made(timed, algorithm, encoding)}`,
          "x-timestamp": TIME,
        }),
        (algorithm, encoding) => ({ "x-vapi-signature": made(rawBody, algorithm, encoding) }),
        (algorithm, encoding) => ({ "x-vapi-signature": made(rawBody, algorithm, encoding), "x-timestamp": TIME }),
        (algorithm, encoding) => ({
          "svix-id": "msg_1",
          "svix-timestamp": TIME,
          "svix-signature": `v1,${made(`msg_1.${timed}`, algorithm, encoding)}`,
        }),
        (algorithm, encoding) => ({
          "webhook-id": "msg_1",
          "webhook-timestamp": TIME,
          "webhook-signature": `v1,${made(`msg_1.${timed}`, algorithm, encoding, "old secret")} v1,${made(`msg_1.${timed}`, algorithm, encoding)}`,
        }),
      ]
      for (const algorithm of ["sha1", "sha256", "sha512"]) {
        for (const encoding of ["hex", "base64"] as const) {
          for (const headers of headersOf.map((build) => build(algorithm, encoding))) {
            const shown = `${algorithm} ${encoding} ${Object.keys(headers).join()}`
            assert.isUndefined(verify({ rawBody, headers }, NOW), shown)
            assert.isDefined(verify({ rawBody: `${rawBody} `, headers }, NOW), shown)
          }
        }
      }
    })

    it("may be in a header of the operator's choice", () => {
      const named = webhooksOf("vapi", {
        Vapi: { ...Object(settings).Vapi, WebhookSignatureHeader: "X-Shop-Signature" },
      })
      const headers = { "x-shop-signature": made(rawBody, "sha256", "hex") }
      assert.isUndefined(named.verify({ rawBody, headers }, NOW))
      assert.isDefined(verify({ rawBody, headers }, NOW))
    })

    it("is refused when it is old, is no digest, or was made with another secret, and the reason names the header", () => {
      for (const [headers, reason] of [
        [{ "x-signature": made(timed, "sha256", "hex"), "x-timestamp": "1799999000" }, "x-timestamp: It is too old"],
        [{ "x-signature": made(timed, "sha256", "hex"), "x-timestamp": "soon" }, "x-timestamp: Expected"],
        [{ "x-signature": "sha256=" }, "x-signature: Expected an HMAC"],
        [{ "x-signature": `${"a".repeat(30)}=${made(rawBody, "sha256", "hex")}` }, "x-signature: Expected an HMAC"],
        [{ "x-vapi-signature": made(rawBody, "sha256", "hex", "another") }, "x-vapi-signature: It was not made with"],
      ] as const) {
        assert.include(verify({ rawBody, headers }, NOW), reason)
      }
    })
  })

  it("the signature of a webhook of ElevenLabs may be one of several, in any order, beside versions that are not known", () => {
    const { headers, rawBody, settings } = caseOf("elevenlabs")
    const { verify } = webhooksOf("elevenlabs", settings)
    const [time = "", signature = ""] = headers["elevenlabs-signature"]?.split(",") ?? []
    const other = `v0=${"0".repeat(64)}`
    for (const given of [
      `${signature},${time}`,
      `${time}, ${signature}`,
      `${time},${other},${signature}`,
      `${time},${signature},v1=abc`,
      `${time},v1=abc,${signature},${other}`,
    ]) {
      assert.isUndefined(verify({ rawBody, headers: { "elevenlabs-signature": given } }, NOW), given)
    }
    for (const given of [
      time,
      signature,
      `${time},${other}`,
      `${time},v1=${signature.slice(3)}`,
      "",
      `${time},${signature}0`,
    ]) {
      assert.isDefined(verify({ rawBody, headers: { "elevenlabs-signature": given } }, NOW), given)
    }
  })

  it("the signature of a webhook of Cartesia is the secret itself", () => {
    const { ended, verify } = webhooksOf("cartesia", {
      Cartesia: { ApiKey: "key", AgentId: "agent", WebhookSecret: "secret_cartesia_012345" },
    })
    const id = "voicegate-1800000030-AAAAAAAAAAAAAAAAAAAAA1"
    const rawBody = `{"type":"call_completed","request_id":"${id}","agent_id":"agent"}`
    assert.isUndefined(verify({ rawBody, headers: { "x-webhook-secret": "secret_cartesia_012345" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: { "x-webhook-secret": "secret_cartesia_01234" } }, NOW))
    assert.isDefined(verify({ rawBody, headers: {} }, NOW))
    assert.deepStrictEqual(ended(JSON.parse(rawBody)), { _tag: "ended", sessions: [[id]] })
    for (const [change, because] of [
      [{ type: "call_started" }, "other_event"],
      [{ agent_id: "another" }, "other_session"],
      [{ request_id: "MZ01" }, "other_session"],
    ] as const) {
      assert.deepStrictEqual(ended({ ...JSON.parse(rawBody), ...change }), { _tag: "ignored", because }, because)
    }
  })

  it("the signature of a webhook of Daily may have its time in seconds, and is absent from the request that tests a new webhook alone", () => {
    const { ended, verify } = webhooksOf("daily", caseOf("daily").settings)
    const { session } = caseOf("daily")
    for (const room of [`${session}s`, session.replace(/agent$/, "other"), "room-agent", `x${session}`]) {
      const read = ended({ type: "meeting.ended", payload: { room } })
      assert.deepStrictEqual(read, { _tag: "ignored", because: "other_session" }, room)
    }
    const test = '{"test":"test"}'
    assert.isUndefined(verify({ rawBody: test, headers: {} }, NOW))
    assert.deepStrictEqual(ended(JSON.parse(test)), { _tag: "ignored", because: "other_event" })
    assert.isDefined(verify({ rawBody: '{"test":"test","type":"meeting.ended"}', headers: {} }, NOW))
    const signature = hmacSha256(Buffer.from("daily secret 0123456789abcdef"), `1800000000.${test} `, "base64")
    const headers = { "x-webhook-timestamp": "1800000000", "x-webhook-signature": signature }
    assert.isUndefined(verify({ rawBody: `${test} `, headers }, NOW))
  })

  it("the signature of a webhook of Ultravox may be one of several, while keys are rotated", () => {
    const { headers, rawBody, settings } = caseOf("ultravox")
    const { verify } = webhooksOf("ultravox", settings)
    const signature = headers["x-ultravox-webhook-signature"] ?? ""
    const several = { ...headers, "x-ultravox-webhook-signature": `${"0".repeat(64)}, ${signature}` }
    assert.isUndefined(verify({ rawBody, headers: several }, NOW))
  })

  it("the signature of a webhook of Ultravox is taken when the webhook is sent again hours later: an end is idempotent", () => {
    const { headers, rawBody, settings } = caseOf("ultravox")
    const { verify } = webhooksOf("ultravox", settings)
    assert.isUndefined(verify({ rawBody, headers }, NOW + 23 * 60 * 60_000))
    assert.isDefined(verify({ rawBody, headers }, NOW + 25 * 60 * 60_000))
  })
})
