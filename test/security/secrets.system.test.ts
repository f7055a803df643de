/**
 * Every secret setting holds a sentinel; then everything that can go wrong does, with a platform and a provider that repeat the
 * keys they are sent. No sentinel may come back: not in an answer, the log, the metrics, the documents, the console, what
 * `check` says, or why the gate did not start.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { settingRows } from "../../src/settings/showing/table.ts"
import { type Environment, type Gate, makeBench, runProgram, settingsFor } from "../harness/gate.ts"
import { ask, field } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { type FakePlatform, type Scripted, startEcho, startPlatform, startProvider } from "../harness/servers.ts"

const base64 = (byte: number): string => `whsec_${Buffer.alloc(24, byte).toString("base64")}`

/** By the setting that holds them; a setting that becomes secret needs one here. */
const SENTINELS: Readonly<Record<string, ReadonlyArray<string>>> = {
  StoreConnectionString: ["SentinelStorePassword01"],
  ApiSecretToken: ["SentinelPlatformKey01", "SentinelSecondPlatformKey01"],
  "IpIntel.ApiKey": ["SentinelProviderKey01"],
  "Security.WebhookApiToken": ["SentinelWebhookToken01", "SentinelWebhookToken02"],
  "Security.WebhookSigningSecret": [base64(0x5e), base64(0x7a)],
  "Security.ConsoleToken": ["SentinelConsoleToken01"],
  "Identity.Secrets": ["SentinelIdentitySecret01SentinelIdentity"],
  "Events.Secrets": [base64(0x3c)],
  "Events.Token": ["SentinelEventsToken01"],
  "Budget.Token": ["SentinelBudgetToken01"],
  "LiveKit.ApiKey": ["SentinelLiveKitKey01"],
  "LiveKit.ApiSecret": ["SentinelLiveKitSecret01SentinelLiveKitSecret01"],
  "Retell.ApiKey": ["SentinelRetellKey01"],
  "Vapi.ApiKey": ["SentinelVapiKey01"],
  "Vapi.WebhookSecret": ["SentinelVapiWebhook01"],
  "ElevenLabs.ApiKey": ["SentinelElevenLabsKey01"],
  "ElevenLabs.WebhookSecret": ["SentinelElevenLabsWebhook01"],
  "Ultravox.ApiKey": ["SentinelUltravoxKey01"],
  "Ultravox.WebhookSecret": ["SentinelUltravoxWebhook01"],
  "OpenAI.ApiKey": ["SentinelOpenAIKey01"],
  "Pipecat.PublicKey": ["SentinelPipecatPublic01"],
  "Pipecat.PrivateKey": ["SentinelPipecatPrivate01"],
  "Daily.ApiKey": ["SentinelDailyKey01"],
  "Daily.WebhookSecret": ["SentinelDailyWebhook01"],
  "Deepgram.ApiKey": ["SentinelDeepgramKey01"],
  "AssemblyAI.ApiKey": ["SentinelAssemblyKey01"],
  "Cartesia.ApiKey": ["SentinelCartesiaKey01"],
  "Cartesia.WebhookSecret": ["SentinelCartesiaWebhook01"],
  "Generic.Headers": ["x-api-key: SentinelGenericKey01"],
  "Generic.StartBody": ['{"auth":{"key":"SentinelGenericBody01"},"id":"{{correlationId}}"}'],
  "Generic.WebhookSecret": ["SentinelGenericWebhook01"],
}
/** The campaigns of vendors, whose APIs are at `origin`; LiveKit's credential names its key, so none is started. */
const VENDOR_CAMPAIGNS = [
  "retell",
  "vapi",
  "elevenlabs",
  "ultravox",
  "openai",
  "pipecat",
  "daily",
  "deepgram",
  "assemblyai",
  "cartesia",
  "generic",
]
const vendorSettings = (origin: string): Environment => {
  const given: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    LiveKit: { Url: origin.replace("http", "ws"), AgentName: "agent-livekit" },
    Retell: { AgentId: "agent-retell" },
    Vapi: { AssistantId: "agent-vapi" },
    ElevenLabs: { AgentId: "agent-elevenlabs" },
    Ultravox: { AgentId: "agent-ultravox" },
    OpenAI: { AgentId: "agent-openai" },
    Pipecat: { AgentId: "agent-pipecat" },
    Daily: { AgentId: "agent-daily" },
    Deepgram: { AgentId: "agent-deepgram" },
    AssemblyAI: { AgentId: "agent-assemblyai" },
    Cartesia: { AgentId: "agent-cartesia" },
    Generic: { AgentId: "agent-generic", StartPath: "calls", SessionIdField: "id", TokenField: "token" },
  }
  const settings: Record<string, string> = {}
  for (const [vendor, values] of Object.entries(given)) {
    const campaign = `VoiceAiPlatform__Campaigns__${vendor.toLowerCase()}`
    settings[`${campaign}__Platform`] = vendor.toLowerCase()
    settings[`${campaign}__MaxConcurrency`] = "10"
    if (vendor !== "LiveKit") settings[`${campaign}__${vendor}__BaseUrl`] = origin
    for (const [name, value] of Object.entries(values)) settings[`${campaign}__${vendor}__${name}`] = value
    for (const secret of Object.keys(SENTINELS).filter((path) => path.startsWith(`${vendor}.`))) {
      const name = secret === "Generic.Headers" ? "Generic__Headers__0" : secret.replace(".", "__")
      settings[`${campaign}__${name}`] = sentinel(secret)
    }
  }
  return settings
}
const sentinel = (setting: string, n = 0): string => {
  const found = SENTINELS[setting]?.[n]
  if (found === undefined) throw new Error(`no sentinel for ${setting}`)
  return found
}
/** Strings that must never appear: each secret, also without its prefix and encoded as in a URL or base64. */
const forbidden = Object.values(SENTINELS)
  .flat()
  .flatMap((secret) => {
    const bare = /"key":"([^"]+)"/.exec(secret)?.[1] ?? secret.replace(/^whsec_|^x-api-key: /, "")
    return [bare, encodeURIComponent(bare), Buffer.from(secret).toString("base64").slice(0, -4)]
  })

const assertSilent = (what: string, text: string): void => {
  for (const secret of forbidden) {
    const at = text.indexOf(secret)
    assert.isTrue(at < 0, `${what} holds ${secret}: …${text.slice(Math.max(0, at - 200), at + 100)}`)
  }
}

describe("a secret setting", () => {
  const bench = makeBench()
  let redis: RedisServer
  let platform: FakePlatform
  let gate: Gate
  let vendors: Awaited<ReturnType<typeof startEcho>>
  let environment: Environment
  afterAll(bench.dispose)

  beforeAll(async () => {
    redis = bench.own(await startRedis({ password: sentinel("StoreConnectionString") }))
    platform = bench.own(await startPlatform())
    const provider = bench.own(await startProvider())
    vendors = bench.own(await startEcho())
    provider.script = (address) =>
      address.endsWith("1")
        ? { status: 500, body: `wrong key ${sentinel("IpIntel.ApiKey")}` }
        : { status: 200, body: { error: sentinel("IpIntel.ApiKey"), is_vpn: sentinel("IpIntel.ApiKey") } }
    environment = {
      ...settingsFor(platform, { Security__TrustedProxies__0: "loopback", Queue__MaxLength: "3" }),
      StoreConnectionString: redis.url,
      VoiceAiPlatform__ApiSecretToken: sentinel("ApiSecretToken"),
      VoiceAiPlatform__Campaigns__second__ApiSecretToken: sentinel("ApiSecretToken", 1),
      VoiceAiPlatform__Campaigns__second__WebCampaignId: "campaign-2",
      // a start that may have happened holds a slot, and each of them is to reach the platform
      VoiceAiPlatform__MaxConcurrency: "10",
      VoiceAiPlatform__Campaigns__second__MaxConcurrency: "10",
      IpIntel__Provider: "ipapi.is",
      IpIntel__ApiKey: sentinel("IpIntel.ApiKey"),
      IpIntel__BaseUrl: provider.origin,
      Security__WebhookApiToken__0: sentinel("Security.WebhookApiToken"),
      Security__WebhookApiToken__1: sentinel("Security.WebhookApiToken", 1),
      Security__WebhookSigningSecret__0: sentinel("Security.WebhookSigningSecret"),
      Security__WebhookSigningSecret__1: sentinel("Security.WebhookSigningSecret", 1),
      Security__ConsoleToken: sentinel("Security.ConsoleToken"),
      Identity__Secrets__0: sentinel("Identity.Secrets"),
      // the receiver sends back what it was sent
      VoiceAiPlatform__Events__Url: `${vendors.origin}/events`,
      VoiceAiPlatform__Events__Secrets__0: sentinel("Events.Secrets"),
      VoiceAiPlatform__Events__Token__0: sentinel("Events.Token"),
      VoiceAiPlatform__Budget__Token__0: sentinel("Budget.Token"),
      ...vendorSettings(vendors.origin),
    }
    const { Security__WebhookApiToken: _one, ...lists } = environment
    environment = lists
    gate = await bench.gate(environment)
  })

  it("has a sentinel value, each of them", () => {
    const secret = settingRows.flatMap(({ path, secret }) => (secret ? path.replace(/^VoiceAiPlatform\./, "") : []))
    assert.deepStrictEqual(secret.sort(), Object.keys(SENTINELS).sort())
  })

  // side by side: most of it is waiting for what does not answer
  it.concurrent("is in no answer and no log line, whatever fails and whichever side echoes it", async () => {
    const seen: Array<string> = []
    const record = async (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>> = {},
      body?: unknown,
    ) => {
      const answer = await ask(method, gate.url + path, { headers, ...(body === undefined ? {} : { body }) })
      seen.push(`${method} ${path} ${JSON.stringify(answer.headers)} ${answer.text}`)
      return answer
    }
    const console = { authorization: `Bearer ${sentinel("Security.ConsoleToken")}` }
    const everything = async (): Promise<void> => {
      for (const path of [
        "/metrics",
        "/docs",
        "/openapi.json",
        "/health/live",
        "/health/ready",
        "/nothing",
        "/console/",
        "/widget.js",
      ]) {
        await record("GET", path)
      }
      for (const path of [
        "/console/api/view",
        "/console/api/audit-log?count=100",
        "/console/api/view?campaign=second",
      ]) {
        await record("GET", path, console)
        await record("GET", path)
      }
      await record("POST", "/console/api/actions", console, { action: { type: "resume" } })
      await record("POST", "/sessionHub/negotiate")
    }

    /** What a platform may do that repeats the key it was sent. */
    const echoes: ReadonlyArray<(key: string) => Scripted | undefined> = [
      () => undefined,
      (key) => ({ status: 401, body: { success: false, code: key, message: `no such key: ${key}` } }),
      (key) => ({ status: 403, body: { detail: `Token ${key} may not` } }),
      (key) => ({ status: 500, body: `<pre>${key}</pre>` }),
      (key) => ({ status: 200, body: { success: true, data: key } }),
      (key) => ({ status: 200, body: { success: false, message: key } }),
      (key) => ({ status: 302, body: key }),
      () => "reset",
    ]
    let others = 0
    /** Waits until the campaign starts calls again: one whose platform has refused a start holds its callers for a while. */
    const recovered = (campaignId: string): Promise<void> =>
      eventually(
        `${campaignId} starts calls again`,
        async () => {
          const from = { "x-forwarded-for": `93.184.${218 + (others >> 8)}.${others++ & 255}` }
          const answer = await record("POST", "/api/session/request", from, { campaignId })
          const ticket = field(answer, "uniqueRequestId")
          if (ticket !== undefined) await record("DELETE", `/api/session/${ticket}`)
          const session = field(answer, "sessionId")
          const token = { "x-api-token": sentinel("Security.WebhookApiToken") }
          if (session !== undefined)
            await record("POST", "/api/webhook/session-ended", token, { ConversationSessionId: session })
          return answer.status === 200
        },
        30_000,
      )
    for (const [n, echo] of echoes.entries()) {
      for (const campaignId of ["default", "second"]) {
        platform.script = undefined
        await recovered(campaignId)
        platform.script = ({ authorization }) => echo(authorization.replace(/^Token /, ""))
        const answer = await record(
          "POST",
          "/api/session/request",
          { "x-forwarded-for": `93.184.216.${n}` },
          { campaignId },
        )
        const ticket = field(answer, "uniqueRequestId")
        if (ticket !== undefined) await record("GET", `/api/session/${ticket}`)
        // no request starts while another waits
        if (answer.status === 202) await record("DELETE", `/api/session/${ticket}`)
        const session = field(answer, "sessionId")
        const token = { "x-api-token": sentinel("Security.WebhookApiToken", n % 2) }
        if (session !== undefined)
          await record("POST", "/api/webhook/session-ended", token, { ConversationSessionId: session })
      }
    }
    platform.script = undefined
    for (const [n, campaignId] of [...VENDOR_CAMPAIGNS, ...VENDOR_CAMPAIGNS].entries()) {
      const answer = await record(
        "POST",
        "/api/session/request",
        { "x-forwarded-for": `93.184.217.${n}` },
        { campaignId },
      )
      const ticket = field(answer, "uniqueRequestId")
      const [, offerToken] = /"token":"(ek_[^"]+)"/.exec(answer.text) ?? []
      if (offerToken !== undefined) {
        const offer = { "content-type": "application/sdp", authorization: `Bearer ${offerToken}` }
        await record("POST", `/api/session/${ticket}/relay`, offer, "v=0\r\n")
      }
      if (ticket !== undefined) await record("DELETE", `/api/session/${ticket}`)
      await record("POST", `/api/webhook/${campaignId}`, { "x-signature": "00", "x-webhook-secret": "no" }, { id: "c" })
    }
    for (const token of ["wrong", `${sentinel("Security.WebhookApiToken")}x`.slice(0, -2), ""]) {
      await record("POST", "/api/webhook/session-ended", { "x-api-token": token }, { ConversationSessionId: "s" })
    }
    const signed = { "webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" }
    await record("POST", "/api/webhook/session-ended", signed, { ConversationSessionId: "s" })
    await record("GET", "/console/api/view", { authorization: "Bearer wrong-token-0123456789" })
    await everything()

    redis.kill("SIGKILL")
    await eventually("the store is away", async () => (await record("GET", "/health/ready")).status === 503)
    await record("POST", "/api/session/request", {}, {})
    await everything()
    await redis.restart()
    await eventually("the store is back", async () => (await record("GET", "/health/ready")).status === 200, 30_000)

    for (const text of seen) assertSilent("an answer", text)
    // and one for the store that was killed, or none
    assert.isAtLeast(platform.starts.length, 2 * echoes.length)
    assert.isAtLeast(vendors.asked.length, VENDOR_CAMPAIGNS.length)
    assertSilent("the output", gate.output())
  })

  it.concurrent("is not in what check says, with all of it failing", async () => {
    const { output } = await runProgram(["check"], {
      ...environment,
      StoreConnectionString: redis.url.replace("//:", "//:Wrong"),
      VoiceAiPlatform__BaseUrl: "http://127.0.0.1:9/",
    })
    assert.match(output, /^FAIL {2}store/m)
    assertSilent("check", output)
  })

  it.concurrent("is not in the reasons why the gate does not start", async () => {
    const store = sentinel("StoreConnectionString")
    const wrong: ReadonlyArray<Environment> = [
      {
        VoiceAiPlatform__ApiSecretToken: `Token ${sentinel("ApiSecretToken")}`,
        Security__ConsoleToken: `${sentinel("Security.ConsoleToken")} and a space`,
        Security__WebhookSigningSecret__0: `${sentinel("Security.WebhookSigningSecret")}=!`,
        Security__WebhookApiToken__1: `short ${sentinel("Security.WebhookApiToken", 1)}`,
        IpIntel__ApiKey: `${sentinel("IpIntel.ApiKey")} ${sentinel("IpIntel.ApiKey")}`,
        Identity__Secrets__0: `${sentinel("Identity.Secrets")} and a space`,
        IpIntel__BaseUrl: `ftp://user:${sentinel("IpIntel.ApiKey")}@provider.example`,
        StoreConnectionString: `redis://:${store}@host:99999`,
      },
      // pasted into the wrong field, or below a name that is none
      {
        StoreConnectionString: `host:6379,passwrod=${store},ssl=maybe`,
        Server__Port: sentinel("Security.ConsoleToken"),
        Security__AllowedOrigins__0: sentinel("Security.WebhookApiToken"),
        VoiceAiPlatform__BaseUrl: `https://x:${sentinel("ApiSecretToken")}@platform.example/?key=${sentinel("ApiSecretToken")}`,
        Security__ConsoleTokn: sentinel("Security.ConsoleToken"),
      },
    ]
    const ended = await Promise.all(wrong.map((each) => runProgram(["serve"], { ...environment, ...each })))
    for (const [n, { code, output }] of ended.entries()) {
      assert.strictEqual(code, 1)
      assert.include(output, `${Object.keys(wrong[n] ?? {}).length} problems`)
      assertSilent("the reasons", output)
    }
  })
})
