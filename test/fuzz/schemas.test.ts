/**
 * Generated input to everything that reads what strangers send: bodies made from the schemas and their mutations, random
 * text, deep JSON. Nothing may throw, nothing that breaks a rule may pass, and no answer may grow with the question.
 *
 * Which cases, the commit decides (`test/harness/seed.ts`); `FUZZ_CASES=n` sets their number a target.
 */

import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Redacted, Result } from "effect"
import { makeCampaigns } from "../../src/gatekeeper/Campaigns.ts"
import { type Validated, validate } from "../../src/gatekeeper/checks/Validate.ts"
import { readRecord, records, refuseHandshake } from "../../src/http/signalr/protocol.ts"
import { canonicalAddress } from "../../src/lib/ip/address.ts"
import { clientAddress, trustedProxies } from "../../src/lib/ip/client-address.ts"
import { readAnswer } from "../../src/platform-api/iqra/answer.ts"
import { sessionIdsOf } from "../../src/platform-api/iqra/webhooks.ts"
import type { InvalidRequest } from "../../src/protocol/refusals.ts"
import { SessionRequest } from "../../src/protocol/request.ts"
import { Chance } from "../harness/chance.ts"
import { SEED } from "../harness/seed.ts"
import { spoil, spoilText } from "./mutate.ts"

const CASES = Number(process.env.FUZZ_CASES ?? 20_000)
/** The longest answer to a request that is wrong, in characters. */
const LONGEST_REFUSAL = 8_192

const options = { timeout: 600_000 }

const campaigns = makeCampaigns({
  Campaigns: [
    {
      name: "default",
      ApiSecretToken: Redacted.make("the-platform-key"),
      BaseUrl: "https://platform.example/",
      BusinessId: "business",
      WebCampaignId: "campaign",
      DefaultRegionId: "eu",
      AllowedRegionIds: ["eu", "us"],
      AllowedTransportTypes: ["websocket", "webrtc"],
      MaxConcurrency: 1,
      Platform: "iqra",
    },
  ],
})

/** Plays one case after another; what goes wrong names its text. */
const each = (text: (chance: Chance) => string, check: (text: string, chance: Chance) => void): void => {
  for (let n = 0; n < CASES; n++) {
    const chance = new Chance(SEED * 1_000_003 + n)
    const given = text(chance)
    try {
      check(given, chance)
    } catch (error) {
      throw new Error(`case ${n} of seed ${SEED}: ${JSON.stringify(given.slice(0, 400))}`, { cause: error })
    }
  }
  assert.isUndefined(Reflect.get({}, "polluted"), "a prototype was polluted")
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The rules of a request, written once more in the plainest way. */
const assertSound = ({ campaign, config }: Validated): void => {
  assert.strictEqual(campaign.name, "default")
  assert.include(["eu", "us"], config.regionId)
  assert.include([0, 1], config.transportType)
  if (config.clientIdentifier !== undefined) assert.match(config.clientIdentifier, /^[^/\\]{1,256}$/s)
  let text = config.clientIdentifier ?? ""
  for (const variables of [config.dynamicVariables, config.metadata]) {
    const entries = Object.entries(variables)
    assert.isAtMost(entries.length, 64)
    for (const [name, value] of entries) {
      assert.isTrue(name.length >= 1 && name.length <= 128 && typeof value === "string" && value.length <= 4_096)
      text += name + value.replace(/[\t\n\r]/g, " ")
    }
  }
  assert.notMatch(text, /[\p{Cc}\p{Cs}]/u)
  assert.isAtMost(Buffer.byteLength(text), 8192)
  for (const direction of ["input", "output"] as const) {
    const encoding = config.audio[`${direction}EncodingType`] ?? 1
    const rate = config.audio[`${direction}SampleRate`] ?? 16_000
    assert.include([1, 2, 3, 4, 5, 6, 7, 8], encoding)
    assert.isTrue(Number.isInteger(rate) && rate >= 8_000 && rate <= 96_000)
    assert.include([8, 16, 24, 32], config.audio[`${direction}BitsPerSample`] ?? 16)
  }
  // what is stored comes back as it was
  const stored = JSON.stringify(config)
  assert.strictEqual(JSON.stringify(JSON.parse(stored)), stored)
}

const assertRefusal = ({ code, issues, message }: InvalidRequest): void => {
  assert.include(["invalid_request", "unknown_campaign", "region_not_allowed"], code)
  assert.isTrue(issues.length >= 1 && issues.length <= 20, `${issues.length} issues`)
  assert.isAtMost(JSON.stringify({ issues, message }).length, LONGEST_REFUSAL)
}

const samples = <A>(arbitrary: Arbitrary.Arbitrary<A>) =>
  Effect.runSync(Arbitrary.sampleEffect(arbitrary, { count: 400, seed: SEED, size: 6 }))

describe("generated input", () => {
  it(
    "generated input to a session request passes only when it keeps every rule, and is refused in few words",
    options,
    () => {
      const good = samples(Arbitrary.schema(SessionRequest))
      let passed = 0
      each(
        (chance) => spoil(chance, good[chance.below(good.length)] ?? {}),
        (text) => {
          const result = validate(campaigns, { MaxTicketBytes: 8192 }, parsed(text))
          if (Result.isFailure(result)) return assertRefusal(result.failure)
          passed++
          return assertSound(result.success)
        },
      )
      console.log(`${CASES} requests, ${passed} passed`)
      assert.isTrue(passed > CASES / 100 && passed < CASES)
    },
  )

  it("generated input to the webhook names only ids of a bounded length", options, () => {
    const good = [
      { ConversationSessionId: "c" },
      { WebSessionId: "w", conversationsessionid: "c" },
      { sessionId: "s", data: [{ WebSessionId: "w" }] },
    ]
    each(
      (chance) => spoil(chance, good[chance.below(good.length)] ?? {}),
      (text) => {
        for (const id of sessionIdsOf(parsed(text)) ?? []) assert.isTrue(id.length > 0 && id.length <= 256)
      },
    )
  })

  it("generated input to the hub is a record or nothing", options, () => {
    const good = [
      { protocol: "json", version: 1 },
      { type: 1, target: "Register", arguments: ["id"], invocationId: "0" },
      { type: 6 },
      { type: 7, error: "gone" },
    ]
    each(
      (chance) => {
        const record = (): string => spoil(chance, good[chance.below(good.length)] ?? {})
        return `${record()}\u001e${record()}${chance.percent(80) ? "\u001e" : ""}`
      },
      (text) => {
        for (const record of records(text) ?? []) {
          const read = readRecord(record)
          if (read?._tag === "invocation") assert.isTrue(typeof read.target === "string" && Array.isArray(read.args))
          const refusal = refuseHandshake(record)
          assert.isTrue(refusal === undefined || refusal.length < 100)
        }
      },
    )
  })

  it("generated input in X-Forwarded-For never moves a caller past the last proxy that is known", options, () => {
    const trusted = trustedProxies(["10.0.0.0/8", "fd00::/8"])
    const known = ["10.1.2.3", "::ffff:10.9.9.9", "[fd00::1]:443", "10.0.0.1:80"]
    const strangers = [
      "203.0.113.9",
      "2001:db8::9",
      "192.0.2.1:4711",
      "unknown",
      "",
      "010.0.0.1",
      "10.0.0",
      "fe80::1%eth0",
    ]
    each(
      (chance) => {
        const chain = Array.from({ length: chance.between(1, 6) }, () => {
          const from = chance.percent(50) ? known : strangers
          return from[chance.below(from.length)] ?? ""
        }).join(chance.pick(",", ", ", " ,\t"))
        return chance.percent(40) ? spoilText(chance, chain) : chain
      },
      (text) => {
        // a stranger at the socket is believed nothing
        assert.strictEqual(
          clientAddress({ socketAddress: "198.51.100.1", header: "x-forwarded-for", value: text, trusted }),
          "198.51.100.1",
        )
        const address = clientAddress({ socketAddress: "10.0.0.1", header: "x-forwarded-for", value: text, trusted })
        assert.isDefined(address)
        assert.strictEqual(canonicalAddress(address ?? ""), address)
        // what a stranger writes to the left of a real address changes nothing
        for (const real of ["203.0.113.77", "203.0.113.77, 10.4.4.4"]) {
          assert.strictEqual(
            clientAddress({ socketAddress: "10.0.0.1", header: "x-forwarded-for", value: `${text},${real}`, trusted }),
            "203.0.113.77",
          )
        }
      },
    )
  })

  it("generated input from the platform is an answer or a typed failure that never holds the key", options, () => {
    const key = "the-platform-key"
    const good = [
      { sessionId: "s", sessionWebSocketURL: "wss://agent.example/s" },
      { webSessionId: "w", conversationSessionId: "c", sessionWebSocketURL: "https://agent.example/" },
    ]
    const failures = [
      { success: false, code: `A:B:${key}`, message: `the key ${key} is wrong`, data: null },
      { success: false, code: "CONCURRENCY_LIMIT_REACHED", message: "full" },
      { detail: `no such key: ${key}` },
    ]
    each(
      (chance) =>
        chance.percent(50)
          ? spoil(chance, { success: true, data: good[chance.below(good.length)] ?? {} })
          : spoil(chance, failures[chance.below(failures.length)] ?? {}),
      (text, chance) => {
        const status = chance.pick(200, 200, 201, 302, 400, 403, 404, 408, 429, 500, 503)
        const result = Effect.runSync(
          Effect.result(readAnswer(chance.pick("start", "read"), { status, body: text, retryAfter: undefined }, key)),
        )
        if (Result.isSuccess(result)) return
        for (const part of Object.values(result.failure.reason)) assert.notInclude(String(part), key)
        assert.notInclude(result.failure.message, key)
        assert.isAtMost(result.failure.message.length, 400)
      },
    )
  })
})
