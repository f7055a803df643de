/** A running gate that reads its settings again: on SIGHUP, alone and with several processes, and through the operator's console. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type Bench, type Gate, settingsFor, WEBHOOK_TOKEN, withBench } from "../../scripts/harness/gate.ts"
import { type Answer, textOf } from "../../scripts/harness/http.ts"
import { eventually } from "../../scripts/harness/process.ts"
import { startRedis } from "../../scripts/harness/redis.ts"
import { type FakePlatform, startPlatform } from "../../scripts/harness/servers.ts"
import { note } from "./support/evidence.ts"
import { openSocket, type Socket } from "./support/push.ts"

const TOPIC = "16-reload"
const CALLERS = 200
const CONSOLE_TOKEN = "e2e-console-token-0123456789"
const NEW_WEBHOOK_TOKEN = "e2e-new-webhook-token-0123"

type Json = Readonly<Record<string, unknown>>

/** A settings file that gates are started with, and that is written anew before a reload. */
const settingsFile = ({ own }: Bench) => {
  const directory = mkdtempSync(join(tmpdir(), "voicegate-reload-"))
  own({ dispose: async () => rmSync(directory, { recursive: true, force: true }) })
  const path = join(directory, "settings.json")
  return {
    path,
    write: (text: string | Json) => writeFileSync(path, typeof text === "string" ? text : JSON.stringify(text)),
  }
}

interface Given {
  readonly store: string
  readonly platform: FakePlatform
  readonly slots?: number
  readonly port?: number
  readonly webhookToken?: ReadonlyArray<string>
  readonly hourly?: number
  readonly campaigns?: Json
}

const settings = ({ campaigns = {}, hourly = 0, platform, port = 0, slots = 1, store, webhookToken }: Given): Json => ({
  StoreConnectionString: store,
  VoiceAiPlatform: {
    ApiSecretToken: settingsFor(platform).VoiceAiPlatform__ApiSecretToken,
    BaseUrl: platform.baseUrl,
    BusinessId: "business-1",
    WebCampaignId: "campaign-1",
    DefaultRegionId: "eu",
    MaxConcurrency: slots,
    Campaigns: campaigns,
  },
  Queue: { DisconnectGraceSeconds: 120 },
  Security: {
    WebhookApiToken: webhookToken ?? [WEBHOOK_TOKEN],
    ConsoleToken: CONSOLE_TOKEN,
    RateLimitHourly: hourly,
    RateLimitDaily: 0,
    RateLimitConcurrency: 0,
    StatusPerMinute: 0,
    TrustedProxies: ["loopback"],
  },
  Server: { Host: "127.0.0.1", Port: port, MaxConnectionsPerAddress: 0 },
})

const reloads = (gate: Gate): number => gate.output().split("Settings were reloaded (SIGHUP)").length - 1
/** Sends SIGHUP and waits until every process of the gate has applied the settings. */
const reload = async (gate: Gate, processes = 1): Promise<void> => {
  const before = reloads(gate)
  gate.kill("SIGHUP")
  await eventually("the reload", () => reloads(gate) === before + processes)
}

const consoleAsks = (gate: Gate, method: string, path: string): Promise<Answer> =>
  gate.ask(method, `/console/api/${path}`, { headers: { authorization: `Bearer ${CONSOLE_TOKEN}` } })

const webhook = (gate: Gate, sessionId: string, token: string): Promise<Answer> =>
  gate.ask("POST", "/api/webhook/session-ended", {
    headers: { "x-api-token": token },
    body: { ConversationSessionId: sessionId },
  })

/** Asks continuously until it is stopped; answers how many requests were answered, and the answers that no caller should see. */
const load = (gates: ReadonlyArray<Gate>, tickets: ReadonlyArray<string>) => {
  let stopped = false
  let answered = 0
  const failed: Array<string> = []
  const client = async (gate: Gate, first: number): Promise<void> => {
    for (let n = first; !stopped; n++) {
      const ticket = tickets[n % tickets.length]
      const asked = n % 3 === 0 ? gate.call(`192.0.2.${n % 250}`) : gate.ask("GET", `/api/session/${ticket}`)
      const { status, text } = await asked.catch((error: unknown) => ({ status: 0, text: String(error) }))
      answered++
      if (status !== 200 && status !== 202) failed.push(`${status} ${text}`)
    }
  }
  const clients = gates.flatMap((gate, n) => [client(gate, n), client(gate, n + 100)])
  return {
    /** Waits for so many further answers. */
    more: async (count: number): Promise<void> => {
      const enough = answered + count
      await eventually(`${count} more answers`, () => answered >= enough)
    },
    stop: async () => {
      stopped = true
      await Promise.all(clients)
      return { answered, failed }
    },
  }
}

describe.concurrent("a running gate", { timeout: 120_000 }, () => {
  it(
    "changes slots, limits and campaigns on SIGHUP under load, without a failed request, a lost place or a closed connection",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const given = { store: redis.url, platform }
      const sales = { sales: { WebCampaignId: "sales-1", MaxConcurrency: 1 } }
      const file = settingsFile(bench)
      file.write(settings({ ...given, campaigns: sales }))
      const gates = await Promise.all([
        bench.gate({}, ["--config", file.path]),
        bench.gate({}, ["--config", file.path, "--processes", "2"]),
      ])
      const [one, two] = gates
      await eventually("all listen", () => two.output().split("listens at").length === 3)
      assert.strictEqual((await one.call("192.0.2.1")).status, 200)

      const tickets: Array<string> = []
      const sockets: Array<Socket> = []
      for (let n = 0; n < CALLERS; n++) {
        const gate = n % 2 === 0 ? one : two
        const queued = await gate.call(`192.0.2.${n % 250}`)
        assert.strictEqual(queued.status, 202)
        tickets.push(textOf(queued, "uniqueRequestId"))
        sockets.push(bench.own(await openSocket(gate, tickets[n] ?? "")))
      }
      const { more, stop } = load(gates, tickets.slice(3))

      await more(50)
      file.write(settings({ ...given, campaigns: sales, slots: 3, hourly: 100_000 }))
      await Promise.all([reload(one), reload(two, 2)])
      await sockets[0]?.sees("start_call")
      await sockets[1]?.sees("start_call")
      await more(100)
      file.write(settings({ ...given, slots: 4, hourly: 100_000 }))
      await Promise.all([reload(one), reload(two, 2)])
      await more(100)
      await sockets[2]?.sees("start_call")
      for (const n of [0, 1, 2]) {
        assert.strictEqual(
          (await (n % 2 === 0 ? one : two).ask("POST", `/api/session/${tickets[n]}/start`)).status,
          200,
        )
      }
      const { answered, failed } = await stop()
      assert.deepStrictEqual(failed, [])
      assert.isAtLeast(answered, 250)
      assert.lengthOf(
        sockets.filter((socket) => socket.closed()),
        0,
      )

      for (const [n, ticket] of tickets.entries()) {
        const status = await one.ask("GET", `/api/session/${ticket}`)
        assert.strictEqual(status.status, 200)
        if (n < 3) assert.strictEqual(textOf(status, "state"), "live")
        else assert.deepInclude(status.json, { state: "waiting", queuePosition: n - 2 })
      }
      assert.strictEqual((await one.call(undefined, { campaignId: "sales" })).status, 400)
      assert.strictEqual((await two.call(undefined, { campaignId: "sales" })).status, 400)
      file.write(settings({ ...given, slots: 4, hourly: 1 }))
      await Promise.all([reload(one), reload(two, 2)])
      assert.strictEqual((await one.call("198.51.100.1")).status, 202)
      assert.strictEqual((await two.call("198.51.100.1")).status, 429)
      assert.include(one.output(), "VoiceAiPlatform.Campaigns.sales (removed)")
      // the other gate is never told that this one is gone
      assert.notMatch(one.output() + two.output(), /"level":"(ERROR|FATAL)"/)
      note(TOPIC, `${CALLERS} waiting callers, two reloads of two gates: ${answered} requests, 0 failed, 0 places lost`)

      const auditLog = await consoleAsks(one, "GET", "audit-log?count=10")
      const lines = Reflect.get(Object(auditLog.json), "lines")
      assert.deepInclude(JSON.parse(JSON.stringify(lines)).at(0), {
        who: "SIGHUP",
        action: "settings",
        result: "done",
        changes: { settings: [{ setting: "Security.RateLimitHourly", before: "100000", after: "1" }], more: 0 },
      })
      assert.include(JSON.stringify(lines), "Security.RateLimitHourly, VoiceAiPlatform.MaxConcurrency")

      for (const gate of gates) gate.kill("SIGTERM")
      assert.deepStrictEqual(await Promise.all(gates.map((gate) => gate.exit)), [
        { code: 0, signal: null },
        { code: 0, signal: null },
      ])
    }),
  )

  it(
    "finishes the start that was in progress at the reload, and starts the next with the new settings",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const elsewhere = bench.own(await startPlatform())
      const given = { store: "memory:", slots: 2 }
      const file = settingsFile(bench)
      file.write(settings({ ...given, platform }))
      const gate = await bench.gate({}, ["--config", file.path])
      platform.script = () => "hang"
      const first = gate.call()
      await eventually("the start", () => platform.starts.length === 1)
      file.write(settings({ ...given, platform: elsewhere }))
      await reload(gate)
      assert.strictEqual((await gate.call()).status, 200)
      assert.lengthOf(elsewhere.starts, 1)
      platform.starts[0]?.release()
      assert.strictEqual((await first).status, 200)
      assert.strictEqual((await gate.call()).status, 202)
    }),
  )

  it(
    "keeps its settings when the new ones have problems, and names them all",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const given = { store: "memory:", platform }
      const file = settingsFile(bench)
      file.write(settings(given))
      const gate = await bench.gate({}, ["--config", file.path])
      assert.strictEqual((await gate.call()).status, 200)
      file.write({ ...settings({ ...given, slots: 2 }), Queue: { MaxLength: -1, Unknown: 1 } })
      gate.kill("SIGHUP")
      await eventually("the problems", () => gate.output().includes("The settings were not changed (SIGHUP)"))
      assert.include(gate.output(), "Queue.MaxLength")
      assert.include(gate.output(), "Queue.Unknown")
      assert.strictEqual((await gate.call()).status, 202)
      const refused = await consoleAsks(gate, "POST", "reload")
      assert.deepInclude(refused.json, { status: 422, code: "settings_refused" })
      assert.include(refused.text, "Queue.MaxLength")
      file.write("{")
      assert.include((await consoleAsks(gate, "POST", "reload")).text, "valid JSON")
    }),
  )

  it(
    "accepts a rotated secret of the webhook, and names what changes only with the next start",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const given = { store: redis.url, platform, slots: 2 }
      const file = settingsFile(bench)
      file.write(settings(given))
      const gate = await bench.gate({}, ["--config", file.path, "--processes", "2"])
      await eventually("all listen", () => gate.output().split("listens at").length === 3)
      for (let n = 0; n < 2; n++) assert.strictEqual((await gate.call()).status, 200)

      file.write(settings({ ...given, port: 9, webhookToken: [NEW_WEBHOOK_TOKEN] }))
      const outcome = await consoleAsks(gate, "POST", "reload")
      assert.strictEqual(outcome.status, 200)
      assert.deepStrictEqual(outcome.json, { changed: ["Security.WebhookApiToken"], kept: ["Server.Port"] })
      await eventually("the other process", () => reloads(gate) === 1)
      assert.include(
        gate.output(),
        "These settings cannot change while the gate runs and keep their values: Server.Port.",
      )

      // separate connections reach both processes
      for (let n = 0; n < 6; n++) {
        assert.strictEqual((await webhook(gate, "conversation-1", WEBHOOK_TOKEN)).status, 401)
      }
      assert.deepStrictEqual((await webhook(gate, "conversation-1", NEW_WEBHOOK_TOKEN)).json, { released: true })
      assert.notInclude(gate.output(), NEW_WEBHOOK_TOKEN)
      const auditLog = await consoleAsks(gate, "GET", "audit-log?count=10")
      assert.include(auditLog.text, '{"setting":"Security.WebhookApiToken","before":"[***]","after":"[***]"}')
      assert.notInclude(auditLog.text, NEW_WEBHOOK_TOKEN)
    }),
  )
})
