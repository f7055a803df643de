/** The settings file that the specification shows, and nothing else, starts the built program and serves calls. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type Bench, PLATFORM_KEY, PROVIDER_KEY, runProgram, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform, startProvider } from "../harness/servers.ts"

/** The specification's tree, with the addresses of this test's servers. */
const writeFile = async (bench: Bench, StoreConnectionString: string) => {
  const platform = bench.own(await startPlatform())
  const provider = bench.own(await startProvider())
  const directory = mkdtempSync(join(tmpdir(), "voicegate-spec-"))
  bench.own({ dispose: async () => rmSync(directory, { recursive: true, force: true }) })
  const file = join(directory, "settings.json")
  const settings = {
    StoreConnectionString,
    VoiceAiPlatform: {
      ApiSecretToken: PLATFORM_KEY,
      BaseUrl: platform.baseUrl,
      BusinessId: "business-1",
      WebCampaignId: "campaign-1",
      DefaultRegionId: "eu",
    },
    IpIntel: { Provider: "ipapi.is", ApiKey: PROVIDER_KEY, BaseUrl: provider.origin },
    Security: { RateLimitHourly: 20, BlockVpn: true, BlockProxy: true },
  }
  writeFileSync(file, JSON.stringify(settings))
  return { file, platform }
}

/** Where the test's gate listens. */
const HERE = { Server__Host: "127.0.0.1", Server__Port: "0" }

const servesCalls = async (bench: Bench, store: string): Promise<void> => {
  const { file, platform } = await writeFile(bench, store)
  const gate = await bench.gate(HERE, ["--config", file])
  const first = await gate.call()
  assert.strictEqual(first.status, 200)
  assert.match(textOf(first, "webSocketUrl"), /^ws:/)
  assert.match(gate.output(), /The slots of campaign default are not known.* The platform's own refusal at capacity/)
  // the platform's refusal is the limit: the caller waits, and is called when the call has ended
  platform.script = () => ({ status: 200, body: { success: false, code: "Start:CONCURRENCY_LIMIT_REACHED" } })
  const second = await gate.call()
  assert.strictEqual(second.status, 202)
  platform.script = undefined
  const ended = { body: { ConversationSessionId: textOf(first, "sessionId") } }
  assert.deepInclude((await gate.ask("POST", "/api/webhook/session-ended", ended)).json, { released: true })
  const ticket = `/api/session/${textOf(second, "uniqueRequestId")}`
  await eventually("the call", async () => (await gate.ask("GET", ticket)).json.state === "called")
  assert.strictEqual((await gate.ask("POST", `${ticket}/start`)).status, 200)
}

describe("the settings file of the specification", { timeout: 240_000 }, () => {
  it.concurrent(
    "serves a call on the embedded store, and makes the next caller wait when the platform is full",
    withBench((bench) => servesCalls(bench, "memory:")),
  )

  it.concurrent(
    "serves a call on Redis too",
    withBench(async (bench) => servesCalls(bench, bench.own(await startRedis()).url)),
  )

  it.concurrent(
    "is valid where other machines reach the gate: webhooks are refused, and a warning says how slots come free",
    withBench(async (bench) => {
      const { file } = await writeFile(bench, "memory:")
      const { output } = await runProgram(["check", "--config", file])
      assert.match(output, /^ok +settings/m)
      assert.match(
        output,
        /^note +Security\.WebhookApiToken .*webhooks of ended sessions are refused\. Meanwhile a slot comes free when/m,
      )
      assert.match(output, /^\? +slots, campaign default: not checked: .*refusal at capacity is the limit/m)
      assert.match(output, /^ok +callers: a caller's address is that of the connection/m)
    }),
  )

  it.concurrent(
    "serves below a base path, documents and console included",
    withBench(async (bench) => {
      const { file } = await writeFile(bench, "memory:")
      const more = { ...HERE, Server__BasePath: "/voice/", Security__ConsoleToken: "console-token-of-the-base-path" }
      const gate = await bench.gate(more, ["--config", file])
      assert.match(gate.url, /\/voice$/)
      for (const path of ["/health/ready", "/docs", "/openapi.json", "/console/", "/metrics", "/widget.js"]) {
        assert.strictEqual((await gate.ask("GET", path)).status, 200, path)
      }
      assert.strictEqual((await gate.call()).status, 200)
    }),
  )

  it.concurrent(
    "says at its address what runs there, and where documents, widget and health are",
    withBench(async (bench) => {
      const { file } = await writeFile(bench, "memory:")
      const of = async (more: Readonly<Record<string, string>>, path: string, method = "GET") => {
        const gate = await bench.gate({ ...HERE, ...more }, ["--config", file])
        const response = await fetch(gate.url + path, { method })
        const text = await response.text()
        for (const [named] of text.matchAll(/\/\S+$/gm)) {
          assert.strictEqual((await fetch(new URL(named, gate.url))).status, 200, named)
        }
        return { status: response.status, type: response.headers.get("content-type"), text }
      }
      const plain = await of({}, "/")
      assert.deepStrictEqual([plain.status, plain.type], [200, "text/plain"])
      assert.match(plain.text, /^This is voicegate\..*\n/)
      assert.deepStrictEqual(plain.text.match(/\/\S+$/gm), ["/docs", "/widget.js", "/health/ready"])
      const console = { Security__ConsoleToken: "console-token-of-the-front-page", Server__Docs: "off" }
      const below = await of({ ...console, Server__BasePath: "/voice" }, "")
      assert.deepStrictEqual(below.text.match(/\/\S+$/gm), [
        "/voice/widget.js",
        "/voice/console",
        "/voice/health/ready",
      ])
      const head = await of({}, "/?from=elsewhere", "HEAD")
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      const gate = await bench.gate(HERE, ["--config", file])
      assert.strictEqual((await fetch(`${gate.url}/nothing`)).status, 404)
      assert.strictEqual((await fetch(`${gate.url}/`, { method: "POST" })).status, 404)
    }),
  )
})
