import { assert, describe, it } from "vitest"
import {
  type CampaignSettings,
  createGate,
  type GateSettings,
  type LogEntry,
  SettingsInvalid,
} from "../../src/index.ts"
import { settingRows } from "../../src/settings/showing/table.ts"
import { rejection, settingsFor, useGates } from "./support.ts"

const here = { address: "127.0.0.1" }

const gates = useGates()

describe("creating a gate", () => {
  it("rejects with every problem of the settings at once, readable and without secrets", async () => {
    const settings = settingsFor(gates.platform, { RateLimitHourly: -1, TrustedProxies: ["nowhere"] })
    const error = await rejection(
      createGate({ ...settings, VoiceAiPlatform: { ...settings.VoiceAiPlatform, BusinessId: undefined } }),
    )
    assert.include(error.message, "Security.RateLimitHourly: expected a whole number")
    assert.include(error.message, "Security.TrustedProxies.0")
    assert.include(error.message, "VoiceAiPlatform.BusinessId: expected business of the campaign; found nothing")
    assert.notInclude(error.message, "platform-key-of-the-tests")
    assert.instanceOf(error, SettingsInvalid)
    assert.equal(error.problems.length, 3)
  })

  it("takes the platform's refusals for the limit when the platform does not tell the slots, and names the setting", async () => {
    gates.platform.next = async () => ({
      status: 403,
      body: { success: false, code: "X:API_ACCESS_MANAGEMENT_RESTRICTION" },
    })
    const settings = settingsFor(gates.platform)
    const log: Array<string> = []
    const gate = gates.own(
      await createGate(
        { ...settings, VoiceAiPlatform: { ...settings.VoiceAiPlatform, MaxConcurrency: undefined } },
        { log: ({ message }) => log.push(message) },
      ),
    )
    assert.include(log.join("\n"), "Set VoiceAiPlatform.MaxConcurrency")
    assert.deepEqual(await gate.ready(), { status: "ready" })
    gates.platform.next = undefined
    assert.equal((await gate.request({}, here)).status, "started")
  })

  it("rejects an invalid base path", async () => {
    const error = await rejection(gates.create({}, { basePath: "/voice?x" }))
    assert.instanceOf(error, TypeError)
    assert.equal(error.message, 'basePath: expected a path such as /voice, found "/voice?x"')
  })

  it("refuses unknown options and fields, and suggests what was probably meant", async () => {
    const error = await rejection(gates.create({}, JSON.parse('{"basepath":"/voice"}')))
    assert.instanceOf(error, TypeError)
    assert.equal(
      error.message,
      "options.basepath: Expected one of basePath, log, ipIntel, store, redis, platform; did you mean basePath?",
    )
    const misspelt = { VoiceAiPlatform: { ...settingsFor(gates.platform).VoiceAiPlatform, MaxConcurency: 3 } }
    assert.include(
      (await rejection(createGate(misspelt, { log: () => {} }))).message,
      "did you mean VoiceAiPlatform.MaxConcurrency?",
    )
    const on = await gates.create()
    const asked = await on.initiateWebSession(JSON.parse('{"regionId":"us","Metadata":{}}'), here)
    assert.deepEqual(asked, {
      status: "refused",
      code: "invalid_request",
      message:
        "regionId: Expected one of WebCampaignId, RegionId, DynamicVariables; did you mean RegionId?; " +
        "Metadata: Expected one of WebCampaignId, RegionId, DynamicVariables",
      issues: [
        {
          field: "regionId",
          message: "Expected one of WebCampaignId, RegionId, DynamicVariables; did you mean RegionId?",
        },
        { field: "Metadata", message: "Expected one of WebCampaignId, RegionId, DynamicVariables" },
      ],
    })
    assert.lengthOf(gates.platform.starts, 0)
    assert.equal((await on.initiateWebSession({ RegionId: "us", WebCampaignId: "campaign" }, here)).status, "started")
  })

  it("passes its log to the host, without the platform's key", async () => {
    const entries: Array<LogEntry> = []
    const on = await gates.create({}, { log: (entry) => entries.push(entry) })
    gates.platform.next = async () => ({
      status: 401,
      body: { success: false, message: "wrong platform-key-of-the-tests" },
    })
    await on.request({}, here)
    const refused = entries.find(({ level }) => level === "error")
    assert.strictEqual(refused?.message, "The platform did not start a session: wrong <redacted>")
    assert.strictEqual(refused?.annotations?.campaign, "default")
    assert.match(String(refused?.annotations?.ticket), /^[0-9a-f]{10}$/)
    assert.deepInclude(entries, {
      level: "warn",
      message:
        "StoreConnectionString is not set: queue and limits exist in this process only and are lost when it ends.",
    })
  })

  it("has the same settings in its type as in the table", () => {
    type Every<T> = { readonly [K in keyof T]-?: Every<NonNullable<T[K]>> }
    const campaign: Every<CampaignSettings> = {
      ApiSecretToken: "",
      BaseUrl: "",
      BusinessId: "",
      WebCampaignId: "",
      DefaultRegionId: "",
      AllowedRegionIds: "",
      AllowedTransportTypes: "",
      MaxConcurrency: "",
      SilenceSeconds: "",
      IdentityRequired: "",
      Hours: { Zone: "", Open: "", Closed: "", AfterCloseMinutes: "" },
      Overflow: { AfterSeconds: "", Offers: "" },
      MaxCallSeconds: "",
      VendorEndsAfterMinutes: "",
      Platform: "",
      Account: { Name: "", MaxConcurrency: "", ReservedSlots: "" },
      Events: { Url: "", Secrets: "", Token: "", RetentionHours: "", MaxStored: "" },
      Price: { PerMinute: "", Currency: "", RoundUpSeconds: "", MinimumSeconds: "" },
      Budget: { Token: "", Zone: "", BlockSeconds: "", EndLeadSeconds: "", WaitMinutes: "" },
      Budgets: [{ Name: "", Of: "", Unit: "", Per: "", Cap: "", AlertAt: [], OnLimit: "" }],
      LiveKit: { Url: "", ApiKey: "", ApiSecret: "", AgentName: "", AgentDeployment: "" },
      Retell: { ApiKey: "", BaseUrl: "", AgentId: "" },
      Vapi: { ApiKey: "", BaseUrl: "", AssistantId: "", WebhookSecret: "", WebhookSignatureHeader: "" },
      ElevenLabs: { ApiKey: "", BaseUrl: "", AgentId: "", WebhookSecret: "" },
      Generic: {
        BaseUrl: "",
        AgentId: "",
        Headers: "",
        StartMethod: "",
        StartPath: "",
        StartBody: "",
        SessionIdField: "",
        UrlField: "",
        TokenField: "",
        SingleUse: "",
        AtCapacity: "",
        StatusPath: "",
        StatusField: "",
        OverStatuses: "",
        EndPath: "",
        WebhookSecret: "",
        WebhookHeader: "",
        WebhookScheme: "",
        WebhookTimeHeader: "",
        WebhookIdField: "",
        WebhookEventField: "",
        WebhookEndEvents: "",
      },
      Ultravox: { ApiKey: "", BaseUrl: "", AgentId: "", WebhookSecret: "", GateUrl: "" },
      OpenAI: {
        ApiKey: "",
        BaseUrl: "",
        AgentId: "",
        Api: "",
        Model: "",
        Voice: "",
        Instructions: "",
        PromptId: "",
        Session: "",
        GateUrl: "",
      },
      Pipecat: { PublicKey: "", PrivateKey: "", BaseUrl: "", AgentId: "" },
      Daily: { ApiKey: "", BaseUrl: "", AgentId: "", WebhookSecret: "" },
      Deepgram: { ApiKey: "", BaseUrl: "", Url: "", AgentId: "" },
      AssemblyAI: { ApiKey: "", BaseUrl: "", AgentId: "" },
      Cartesia: { ApiKey: "", BaseUrl: "", AgentId: "", WebhookSecret: "" },
    }
    const every: Every<GateSettings> = {
      StoreConnectionString: "",
      VoiceAiPlatform: { ...campaign, Campaigns: { "{name}": campaign } },
      IpIntel: {
        Provider: "",
        ApiKey: "",
        BaseUrl: "",
        OnError: "",
        CacheDays: "",
        LookupsPerMinute: "",
        NetworkLookupsPerMinute: "",
        TimeoutMillis: "",
        Lists: { Vpn: "", Datacenter: "", Tor: "", Relay: "", RefreshHours: "" },
      },
      Security: {
        RateLimitHourly: "",
        RateLimitDaily: "",
        RateLimitConcurrency: "",
        RefundsPerHour: "",
        MissedTurnCost: "",
        StatusPerMinute: "",
        ClientAddressHeader: "",
        BlockVpn: "",
        BlockProxy: "",
        BlockTor: "",
        BlockDatacenter: "",
        Shadow: {
          RateLimitHourly: "",
          RateLimitDaily: "",
          RateLimitConcurrency: "",
          BlockVpn: "",
          BlockProxy: "",
          BlockTor: "",
          BlockDatacenter: "",
        },
        WebhookApiToken: "",
        WebhookSigningSecret: "",
        ConsoleToken: "",
        AllowedOrigins: "",
        AllowedHeaders: "",
        TrustedProxies: "",
      },
      Identity: {
        Secrets: "",
        JwksUrl: "",
        Issuer: "",
        Audience: "",
        Required: "",
        SingleUse: "",
        Trust: "",
        JwksStaleHours: "",
      },
      Queue: {
        MaxLength: "",
        NetworkShare: "",
        DisconnectGraceSeconds: "",
        StartWindowSeconds: "",
        MaxCallMinutes: "",
        OpenSeconds: "",
        OnPlatformRefusal: "",
        MaxTicketBytes: "",
      },
      Privacy: { Addresses: "" },
      Server: {
        Host: "",
        BasePath: "",
        Port: "",
        AllowedHosts: "",
        MaxConnectionsPerAddress: "",
        DrainSeconds: "",
        TraceParent: "",
        Docs: "",
        Metrics: "",
        PrivateHost: "",
        PrivatePort: "",
      },
    }
    const paths = (value: object, prefix: string): ReadonlyArray<string> =>
      Object.entries(value).flatMap(([name, inner]) => {
        if (name === "{name}") return [`${prefix}{name}.*`]
        if (Array.isArray(inner))
          return inner.length === 0 ? [`${prefix}${name}`] : paths(inner[0], `${prefix}${name}.{n}.`)
        return typeof inner === "object" ? paths(inner, `${prefix}${name}.`) : [`${prefix}${name}`]
      })
    assert.sameMembers(
      [...paths(every, "")],
      settingRows.map(({ path }) => path),
    )
  })
})
