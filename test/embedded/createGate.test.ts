import { afterEach, assert, beforeEach, describe, it } from "vitest"
import {
  type CampaignSettings,
  createGate,
  type Gate,
  type GateSettings,
  type LogEntry,
  SettingsInvalid,
} from "../../src/index.ts"
import { settingRows } from "../../src/settings/table.ts"
import { type FakePlatform, gateOn, serve, settingsFor, startPlatform } from "./support.ts"

const here = { address: "127.0.0.1" }

let platform: FakePlatform
let gates: Array<Gate>
const gate = async (...[security, options]: [GateSettings["Security"]?, Parameters<typeof gateOn>[2]?]) => {
  const made = await gateOn(platform, security, options)
  gates.push(made)
  return made
}

beforeEach(async () => {
  gates = []
  platform = await startPlatform()
})
afterEach(async () => {
  for (const each of gates) await each.close()
  await platform.close()
})

const rejection = async (promise: Promise<unknown>): Promise<Error> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.instanceOf(error, Error)
  return error
}

/** The two outcomes that most tests start from. */
const started = async (on: Gate, body: unknown = {}, address = "127.0.0.1") => {
  const result = await on.request(body, { address })
  if (result.status !== "started") throw new Error(`not started: ${JSON.stringify(result)}`)
  return result
}
const queued = async (on: Gate, body: unknown = {}, address = "127.0.0.1") => {
  const result = await on.request(body, { address })
  if (result.status !== "queued") throw new Error(`not queued: ${JSON.stringify(result)}`)
  return result
}

describe("creating a gate", () => {
  it("rejects with every problem of the settings at once, readable and without secrets", async () => {
    const settings = settingsFor(platform, { RateLimitHourly: -1, TrustedProxies: ["nowhere"] })
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

  it("rejects when the platform does not report the slots, and names the setting", async () => {
    platform.next = async () => ({ status: 403, body: { success: false, code: "X:API_ACCESS_MANAGEMENT_RESTRICTION" } })
    const settings = settingsFor(platform)
    const error = await rejection(
      createGate(
        { ...settings, VoiceAiPlatform: { ...settings.VoiceAiPlatform, MaxConcurrency: undefined } },
        { log: () => {} },
      ),
    )
    assert.include(error.message, "Set VoiceAiPlatform.MaxConcurrency")
  })

  it("rejects an invalid base path", async () => {
    const error = await rejection(gate({}, { basePath: "/voice?x" }))
    assert.instanceOf(error, TypeError)
    assert.equal(error.message, 'basePath: expected a path such as /voice, found "/voice?x"')
  })

  it("refuses unknown options and fields, and suggests what was probably meant", async () => {
    const error = await rejection(gate({}, JSON.parse('{"basepath":"/voice"}')))
    assert.instanceOf(error, TypeError)
    assert.equal(error.message, "options.basepath: Expected one of basePath, log; did you mean basePath?")
    const misspelt = { VoiceAiPlatform: { ...settingsFor(platform).VoiceAiPlatform, MaxConcurency: 3 } }
    assert.include(
      (await rejection(createGate(misspelt, { log: () => {} }))).message,
      "did you mean VoiceAiPlatform.MaxConcurrency?",
    )
    const on = await gate()
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
    assert.lengthOf(platform.starts, 0)
    assert.equal((await on.initiateWebSession({ RegionId: "us", WebCampaignId: "campaign" }, here)).status, "started")
  })

  it("passes its log to the host, without the platform's key", async () => {
    const entries: Array<LogEntry> = []
    const on = await gate({}, { log: (entry) => entries.push(entry) })
    platform.next = async () => ({ status: 401, body: { success: false, message: "wrong platform-key-of-the-tests" } })
    await on.request({}, here)
    assert.deepInclude(entries, {
      level: "error",
      message: "The platform did not start a session: wrong <redacted>",
    })
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
        BlockVpn: "",
        BlockProxy: "",
        BlockTor: "",
        BlockDatacenter: "",
        WebhookApiToken: "",
        WebhookSigningSecret: "",
        ConsoleToken: "",
        AllowedOrigins: "",
        TrustedProxies: "",
      },
      Queue: {
        MaxLength: "",
        NetworkShare: "",
        DisconnectGraceSeconds: "",
        StartWindowSeconds: "",
        MaxCallMinutes: "",
        MaxTicketBytes: "",
      },
      Privacy: { Addresses: "" },
      Server: {
        Host: "",
        Port: "",
        AllowedHosts: "",
        MaxConnectionsPerAddress: "",
        Docs: "",
        Metrics: "",
        PrivateHost: "",
        PrivatePort: "",
      },
    }
    const paths = (value: object, prefix: string): ReadonlyArray<string> =>
      Object.entries(value).flatMap(([name, inner]) => {
        if (name === "{name}") return [`${prefix}{name}.*`]
        return typeof inner === "object" ? paths(inner, `${prefix}${name}.`) : [`${prefix}${name}`]
      })
    assert.sameMembers(
      [...paths(every, "")],
      settingRows.map(({ path }) => path),
    )
  })
})

describe("requests", () => {
  it("starts a session, or gives a place in the queue", async () => {
    const on = await gate({}, { basePath: "voice/" })
    const first = await started(on)
    assert.deepInclude(first, { sessionId: "session-1", webSocketUrl: "wss://agent.example/session-1" })
    const second = await queued(on)
    assert.deepEqual(second, {
      status: "queued",
      uniqueRequestId: second.uniqueRequestId,
      queuePosition: 1,
      queueLength: 1,
      estimatedWaitSeconds: null,
      disrupted: false,
      called: false,
      eventsUrl: `/voice/api/session/${second.uniqueRequestId}/events`,
    })
    // a join is idempotent
    assert.deepEqual(await queued(on, { uniqueRequestId: second.uniqueRequestId }), second)
  })

  it("initiates a web session with the given campaign, region and variables", async () => {
    const on = await gate()
    const result = await on.initiateWebSession(
      { WebCampaignId: "campaign", RegionId: "us", DynamicVariables: { name: "Ada" } },
      here,
    )
    assert.deepInclude(result, { status: "started", webSocketUrl: "wss://agent.example/session-1" })
    assert.deepInclude(platform.starts[0], {
      webCampaignId: "campaign",
      regionId: "us",
      dynamicVariables: { name: "Ada" },
    })
    assert.equal((await on.initiateWebSession({}, here)).status, "queued")
  })

  it("refuses an invalid request, and names the fields", async () => {
    const on = await gate()
    assert.deepEqual(await on.initiateWebSession({ RegionId: "moon" }, here), {
      status: "refused",
      code: "region_not_allowed",
      message: "regionId: Expected one of eu, us",
      issues: [{ field: "regionId", message: "Expected one of eu, us" }],
    })
    assert.deepInclude(await on.request({ campaignId: "nobody" }, here), { code: "unknown_campaign" })
    assert.deepInclude(await on.request("text", here), { status: "refused", code: "invalid_request" })
    assert.deepInclude(await on.request(undefined, here), { status: "refused", code: "invalid_request" })
    assert.equal(platform.starts.length, 0)
  })

  it("treats an undefined field as absent", async () => {
    const on = await gate()
    await started(on, { regionId: undefined, audioConfiguration: { inputSampleRate: undefined } })
  })

  it("refuses a caller without an address", async () => {
    const on = await gate()
    for (const address of [undefined, "", "localhost"]) {
      assert.deepEqual(await on.request({}, { address }), {
        status: "refused",
        code: "no_client_address",
        message: "address: Expected an IPv4 or IPv6 address.",
      })
    }
  })

  it("counts an address once, however it is written, and reports when to try again", async () => {
    const on = await gate({ RateLimitHourly: 2 })
    await started(on, {}, "::ffff:192.0.2.1")
    await queued(on, {}, "192.0.2.1")
    const third = await on.request({}, { address: "192.0.2.1" })
    assert.deepInclude(third, { status: "refused", code: "rate_limited", limit: "hour" })
    assert.isTrue(
      third.status === "refused" && third.retryAfterSeconds !== undefined && third.retryAfterSeconds > 3_500,
    )
    await queued(on, {}, "192.0.2.2")
  })

  it("reports a refusal of the platform, and queues callers when the platform is unavailable", async () => {
    const on = await gate()
    platform.next = async () => ({ status: 401, body: { success: false, message: "wrong key" } })
    assert.deepInclude(await on.request({}, here), { status: "refused", code: "platform_rejected" })
    platform.next = async () => ({ status: 503, body: {} })
    assert.deepInclude(await on.request({}, here), { status: "queued", queuePosition: 1 })
    platform.next = undefined
  })

  it("reports an unavailable store", async () => {
    const nobody = await serve(() => {})
    await nobody.close()
    const on = await createGate(
      { ...settingsFor(platform), StoreConnectionString: nobody.origin.replace("http:", "redis:") },
      { log: () => {} },
    )
    gates.push(on)
    const refusal = {
      status: "refused",
      code: "store_unavailable",
      message: "The service is not available right now. Try again.",
      retryAfterSeconds: 5,
    }
    assert.deepEqual<unknown>(await on.request({}, here), refusal)
    assert.deepEqual<unknown>(await on.sessionEnded("session-1"), refusal)
  })
})

describe("tickets", () => {
  it("are called in order when a session ends, and start", async () => {
    const on = await gate()
    const { sessionId } = await started(on)
    const { uniqueRequestId: ticket } = await queued(on)
    assert.deepInclude(await on.start(ticket), { status: "refused", code: "not_your_turn", queuePosition: 1 })

    assert.deepEqual(await on.sessionEnded(sessionId), { status: "accepted", released: true })
    assert.deepEqual(await on.sessionEnded([sessionId]), { status: "accepted", released: false })
    const called = await on.status(ticket)
    assert.isTrue(called.status === "found" && called.ticket.state === "called")
    assert.deepEqual(await on.start(ticket), {
      status: "started",
      uniqueRequestId: ticket,
      sessionId: "session-2",
      webSocketUrl: "wss://agent.example/session-2",
    })
    assert.deepInclude(await on.start(ticket), { status: "started", sessionId: "session-2" })
    await on.sessionEnded("session-2")
    assert.deepInclude(await on.start(ticket), { status: "refused", code: "ticket_over", state: "ended" })
  })

  it("can be given up, more than once", async () => {
    const on = await gate()
    await started(on)
    const { uniqueRequestId: ticket } = await queued(on)
    assert.deepEqual(await on.leave(ticket), { status: "left" })
    assert.deepEqual(await on.leave(ticket), { status: "left" })
    assert.deepEqual(await on.status(ticket), {
      status: "found",
      ticket: { uniqueRequestId: ticket, state: "left" },
    })
  })

  it("that are unknown are refused", async () => {
    const on = await gate()
    assert.deepInclude(await on.status("nobody"), { status: "refused", code: "ticket_unknown" })
    assert.deepInclude(await on.start("nobody"), { status: "refused", code: "ticket_unknown" })
  })
})

describe("closing", () => {
  it("waits for requests in flight, then refuses everything", async () => {
    const on = await gate()
    let answer = (): void => {}
    const asked = new Promise<void>((resolve) => {
      platform.next = async (id) => {
        resolve()
        await new Promise<void>((go) => {
          answer = go
        })
        return {
          status: 200,
          body: { success: true, data: { sessionId: id, sessionWebSocketURL: "wss://agent.example/late" } },
        }
      }
    })
    const inFlight = on.request({}, here)
    await asked
    const closed = on.close()
    assert.strictEqual(on.close(), closed)
    assert.equal((await rejection(on.status("ticket"))).message, "The gate is closed.")
    answer()
    assert.deepInclude(await inFlight, { status: "started", webSocketUrl: "wss://agent.example/late" })
    await closed
    assert.equal((await rejection(on.request({}, here))).message, "The gate is closed.")
  })
})
