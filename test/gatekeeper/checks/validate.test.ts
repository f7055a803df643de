/** The validation of a request's body, field by field. */
import { describe, expect, it } from "@effect/vitest"
import { Redacted, Result } from "effect"
import { makeCampaigns } from "../../../src/gatekeeper/Campaigns.ts"
import { type TextLimits, type Validated, validate } from "../../../src/gatekeeper/checks/Validate.ts"
import type { InvalidRequest } from "../../../src/protocol/refusals.ts"
import type { Campaign } from "../../../src/settings/Settings.ts"

const campaign = (
  name: string,
  WebCampaignId: string,
  regions: ReadonlyArray<string>,
  AllowedTransportTypes: Campaign["AllowedTransportTypes"] = ["websocket"],
): Campaign => ({
  name,
  ApiSecretToken: Redacted.make("key"),
  BaseUrl: "https://platform.example/",
  BusinessId: "business",
  WebCampaignId,
  DefaultRegionId: regions[0] ?? "",
  AllowedRegionIds: regions,
  AllowedTransportTypes,
  MaxConcurrency: 1,
  Platform: "iqra",
})
const campaigns = makeCampaigns({
  Campaigns: [
    campaign("default", "web-1", ["eu", "us"]),
    campaign("sales", "web-2", ["asia"], ["webrtc", "websocket"]),
  ],
})

const limits: TextLimits = { MaxTicketBytes: 8192 }
const accepted = (body: unknown, given = limits): Validated => Result.getOrThrow(validate(campaigns, given, body))
const refused = (body: unknown, given = limits): InvalidRequest =>
  Result.getOrThrow(Result.flip(validate(campaigns, given, body)))

const defaults = {
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  dynamicVariables: {},
  metadata: {},
  audio: {},
}
const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth))
const many = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]))

describe("an accepted body", () => {
  it("may be empty", () => {
    expect(accepted({}).config).toEqual(defaults)
    expect(accepted({}).ticket).toBeUndefined()
  })

  it("treats null like an absent field", () => {
    const fields = ["campaignId", "regionId", "transportType", "clientIdentifier", "dynamicVariables", "metadata"]
    const body = Object.fromEntries([...fields, "audioConfiguration", "uniqueRequestId"].map((name) => [name, null]))
    expect(accepted(body)).toEqual(accepted({}))
    const { audio } = accepted({ audioConfiguration: { inputSampleRate: null, outputSampleRate: 8000 } }).config
    expect(audio.inputSampleRate ?? undefined).toBeUndefined()
    expect(audio.outputSampleRate).toBe(8000)
  })

  it("is kept unchanged", () => {
    const audioConfiguration = {
      inputEncodingType: 1,
      inputSampleRate: 48_000,
      inputBitsPerSample: 16,
      outputEncodingType: 7,
      outputSampleRate: 24_000,
      outputBitsPerSample: 32,
    }
    const body = {
      campaignId: "sales",
      regionId: "asia",
      transportType: 1,
      clientIdentifier: "visitor 1",
      dynamicVariables: { name: "Ada", empty: "" },
      metadata: { page: "/prices" },
      audioConfiguration,
      uniqueRequestId: "ticket",
      unknown: { is: "ignored" },
    }
    const { config, ticket } = accepted(body)
    expect(ticket).toBe("ticket")
    expect(config).toEqual({
      campaign: "sales",
      regionId: "asia",
      transportType: 1,
      clientIdentifier: "visitor 1",
      dynamicVariables: { name: "Ada", empty: "" },
      metadata: { page: "/prices" },
      audio: audioConfiguration,
    })
  })

  it("is copied: what a host changes in its body later does not change the request", () => {
    const body = {
      dynamicVariables: { plan: "pro" },
      metadata: { page: "/prices" },
      audioConfiguration: { inputSampleRate: 8000 },
    }
    const { config } = accepted(body)
    body.dynamicVariables.plan = "free"
    body.metadata.page = "/"
    body.audioConfiguration.inputSampleRate = 16_000
    expect(config).toMatchObject({
      dynamicVariables: { plan: "pro" },
      metadata: { page: "/prices" },
      audio: { inputSampleRate: 8000 },
    })
  })

  it("selects its campaign by name or web campaign id, or the default with an empty name", () => {
    expect(accepted({ campaignId: "web-2" }).campaign.name).toBe("sales")
    expect(accepted({ campaignId: "sales" }).config.regionId).toBe("asia")
    expect(accepted({ campaignId: "", regionId: "" }).config).toEqual(defaults)
  })

  it("may reach every limit", () => {
    const variables = { ...many(63, "v".repeat(4096)), ["n".repeat(128)]: "" }
    const body = { clientIdentifier: "x".repeat(256), dynamicVariables: variables, metadata: variables }
    const { config } = accepted(body, { MaxTicketBytes: 1_000_000 })
    expect(config.dynamicVariables).toEqual(variables)
    expect(config.metadata).toEqual(variables)
  })

  it("may have keys that are special in JavaScript, which are kept as plain names", () => {
    const metadata: unknown = JSON.parse('{"__proto__":"x","constructor":"y","toString":"z"}')
    const { config } = accepted({ metadata })
    expect(JSON.parse(JSON.stringify(config.metadata))).toEqual(metadata)
    expect(accepted(JSON.parse('{"__proto__":{"campaignId":"sales"}}')).config.campaign).toBe("default")
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
    expect("x" in {}).toBe(false)
  })
})

describe("a refused body", () => {
  it.each([[null], [undefined], [[]], ["text"], [7], [true]])("is anything but an object: %j", (body) => {
    expect(refused(body)).toMatchObject({ code: "invalid_request", message: "Expected object" })
  })

  it.each([
    ["campaignId", 5],
    ["campaignId", "x".repeat(257)],
    ["regionId", {}],
    ["regionId", "x".repeat(257)],
    ["transportType", 2],
    ["transportType", "0"],
    ["transportType", 0.5],
    ["clientIdentifier", ""],
    ["clientIdentifier", "x".repeat(257)],
    ["clientIdentifier", "a/b"],
    ["clientIdentifier", "a\\b"],
    ["clientIdentifier", 7],
    ["dynamicVariables", "a=b"],
    ["dynamicVariables", ["a"]],
    ["dynamicVariables", many(65, "v")],
    ["metadata", many(65, "v")],
    ["audioConfiguration", "pcm"],
    ["uniqueRequestId", 1],
    ["uniqueRequestId", "x".repeat(65)],
  ])("names %s when it is wrong", (field, value) => {
    const { code, issues, message } = refused({ [field]: value })
    expect(code).toBe("invalid_request")
    expect(issues.map((issue) => issue.field)).toEqual([field])
    expect(message).toMatch(new RegExp(`^${field}: Expected `))
  })

  it.each([
    ["metadata.a", { metadata: { a: 1 } }],
    ["metadata.a", { metadata: { a: null } }],
    ["dynamicVariables.a", { dynamicVariables: { a: "v".repeat(4097) } }],
    ["dynamicVariables.", { dynamicVariables: { "": "v" } }],
    ["metadata.__proto__", { metadata: JSON.parse('{"__proto__":{"polluted":"yes"}}') }],
    ["audioConfiguration.inputEncodingType", { audioConfiguration: { inputEncodingType: 9 } }],
    ["audioConfiguration.outputEncodingType", { audioConfiguration: { outputEncodingType: 0 } }],
    ["audioConfiguration.inputSampleRate", { audioConfiguration: { inputSampleRate: 7999 } }],
    ["audioConfiguration.outputSampleRate", { audioConfiguration: { outputSampleRate: 96_001 } }],
    ["audioConfiguration.inputSampleRate", { audioConfiguration: { inputSampleRate: 8000.5 } }],
    ["audioConfiguration.inputBitsPerSample", { audioConfiguration: { inputBitsPerSample: 12 } }],
    ["audioConfiguration.outputBitsPerSample", { audioConfiguration: { outputBitsPerSample: "16" } }],
  ])("names %s", (field, body) => {
    expect(refused(body).issues.map((issue) => issue.field)).toEqual([field])
  })

  it("reports a variable whose name is too long, instead of dropping it", () => {
    const { issues } = refused({ metadata: { ["n".repeat(129)]: "v" } })
    expect(issues).toHaveLength(1)
    expect(issues[0]?.field).toMatch(/^metadata\.n+…$/)
  })

  it("reports all its problems at once", () => {
    const { issues } = refused({ transportType: 7, clientIdentifier: "/", audioConfiguration: { inputSampleRate: 1 } })
    expect(issues.map(({ field }) => field)).toEqual([
      "transportType",
      "clientIdentifier",
      "audioConfiguration.inputSampleRate",
    ])
  })

  it("is answered with at most twenty problems, and briefly", () => {
    const body = {
      metadata: many(5000, 1),
      campaignId: "x".repeat(60_000),
      dynamicVariables: { ["n".repeat(60_000)]: 1 },
    }
    const { issues, message } = refused(body)
    expect(issues).toHaveLength(20)
    expect(message.length).toBeLessThan(4096)
  })

  it("may be nested deeply", () => {
    expect(refused(nested(30_000)).message).toBe("Expected object")
    expect(refused({ metadata: { a: nested(30_000) } }).issues[0]?.field).toBe("metadata.a")
    expect(accepted({ unknown: nested(30_000) }).config).toEqual(defaults)
  })

  it.each([["nobody"], ["__proto__"], ["constructor"], ["DEFAULT"]])("names no campaign: %s", (campaignId) => {
    expect(refused({ campaignId })).toMatchObject({ code: "unknown_campaign", issues: [{ field: "campaignId" }] })
  })

  it("names a region that its campaign does not allow", () => {
    expect(refused({ regionId: "asia" })).toMatchObject({
      code: "region_not_allowed",
      message: "regionId: Expected one of eu, us",
    })
    expect(refused({ campaignId: "sales", regionId: "eu" }).code).toBe("region_not_allowed")
  })
})

describe("text in a body", () => {
  const NUL = "a\u0000b"
  it.each([
    ["clientIdentifier", { clientIdentifier: NUL }],
    ["clientIdentifier", { clientIdentifier: "a\tb" }],
    ["clientIdentifier", { clientIdentifier: "a\u007f" }],
    ["clientIdentifier", { clientIdentifier: "a\u0085" }],
    ["clientIdentifier", { clientIdentifier: "\ud800" }],
    ["campaignId", { campaignId: NUL }],
    ["regionId", { regionId: NUL }],
    ["uniqueRequestId", { uniqueRequestId: NUL }],
    ["dynamicVariables.name", { dynamicVariables: { name: NUL } }],
    ["metadata.page", { metadata: { page: "a\u001b[31m" } }],
    ["metadata.page", { metadata: { page: "a\udc00" } }],
    ["metadata.a\ufffdb", { metadata: { [NUL]: "v" } }],
    ["dynamicVariables.a\ufffdb", { dynamicVariables: { "a\nb": "v" } }],
  ])("is refused with control characters or half a character: %s", (field, body) => {
    const { code, issues, message } = refused(body)
    expect(code).toBe("invalid_request")
    expect(issues.map((issue) => issue.field)).toEqual([field])
    expect(message).toMatch(/without control characters/)
    // nothing of them is repeated in the answer or the log
    expect(message).not.toMatch(/[\p{Cc}\p{Cs}]/u)
  })

  it("may have tabs and line breaks in the values of variables, and every other character", () => {
    const dynamicVariables = { address: "1 Main St\r\n\tLondon", "naïve 名 😀": "ü 😀 \u2028" }
    expect(accepted({ dynamicVariables, metadata: dynamicVariables }).config).toMatchObject({
      dynamicVariables,
      metadata: dynamicVariables,
    })
  })

  it("is limited in total, in bytes", () => {
    // 6 of the identifier, 4 of the names, 8 of the values
    const body = { clientIdentifier: "visit1", dynamicVariables: { é: "日x" }, metadata: { ab: "1234" } }
    expect(accepted(body, { MaxTicketBytes: 18 }).config.metadata).toEqual({ ab: "1234" })
    const { code, issues, message } = refused(body, { MaxTicketBytes: 17 })
    expect(code).toBe("invalid_request")
    expect(issues).toHaveLength(1)
    expect(message).toContain(
      "dynamicVariables, metadata and clientIdentifier of at most 17 bytes together (UTF-8), got 18",
    )
  })

  it("is limited to 8 KiB by default", () => {
    const body = (bytes: number) => ({
      metadata: { k: "v".repeat(4000), l: "v".repeat(4000), m: "v".repeat(bytes - 8003) },
    })
    expect(accepted(body(8192)).config.metadata).toEqual(body(8192).metadata)
    expect(refused(body(8193)).message).toContain("at most 8192 bytes")
  })
})

describe("a transport", () => {
  it("is WebSocket unless the campaign allows another", () => {
    const { code, issues, message } = refused({ transportType: 1 })
    expect(code).toBe("invalid_request")
    expect(issues.map(({ field }) => field)).toEqual(["transportType"])
    expect(message).toBe("transportType: Expected 0 (websocket)")
    expect(accepted({ transportType: 0 }).config.transportType).toBe(0)
  })

  it("is one that its campaign allows, the first of them when the request names none", () => {
    expect(accepted({ campaignId: "sales" }).config.transportType).toBe(1)
    expect(accepted({ campaignId: "sales", transportType: 0 }).config.transportType).toBe(0)
    const only = makeCampaigns({
      Campaigns: [{ ...campaign("default", "w", ["eu"]), AllowedTransportTypes: ["webrtc"] }],
    })
    expect(Result.getOrThrow(Result.flip(validate(only, limits, { transportType: 0 }))).message).toBe(
      "transportType: Expected 1 (webrtc)",
    )
  })
})

describe("a ticket's id", () => {
  it("identifies its campaign on every instance, even if their settings name it differently", () => {
    const elsewhere = makeCampaigns({ Campaigns: [campaign("b", "web-2", ["x"]), campaign("a", "web-1", ["x"])] })
    for (const each of campaigns.all) {
      const ticket = campaigns.newTicket(each, "s".repeat(22))
      expect(campaigns.ofTicket(ticket)?.name).toBe(each.name)
      expect(elsewhere.ofTicket(ticket)?.WebCampaignId).toBe(each.WebCampaignId)
    }
  })

  it("a ticket's id that is of no campaign is unknown", () => {
    for (const ticket of ["", "x", "s".repeat(26), "é".repeat(30)]) expect(campaigns.ofTicket(ticket)).toBeUndefined()
  })
})
