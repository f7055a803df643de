/** The files of `scripts/deploy`: their tools accept them, and they name metrics that exist. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { settingsFor, withBench } from "../harness/gate.ts"
import { startNginx } from "../harness/nginx.ts"
import { eventually, freePort } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { openEvents, openSocket } from "./support/push.ts"

const DIRECTORY = join(import.meta.dirname, "../../scripts/deploy")
const text = (name: string): string => readFileSync(join(DIRECTORY, name), "utf8")

const rules = text("prometheus-rules.yaml")
const alerts = [...rules.matchAll(/^ +- alert: (\S+)$/gm)].map(([, name]) => name ?? "")
const expressions = [...rules.matchAll(/^ +expr: (.+)$/gm)].map(([, expression]) => expression ?? "")

const metricNames = (expression: string): ReadonlyArray<string> =>
  expression.match(/\b(?:voicegate|process|nodejs)_\w+/g) ?? []

describe("the unit for systemd", () => {
  it("is valid, and exposes little", () => {
    const unit = join(DIRECTORY, "voicegate.service")
    const analyze = (...args: ReadonlyArray<string>) => spawnSync("systemd-analyze", [...args], { encoding: "utf8" })
    const verified = analyze("verify", unit)
    assert.deepStrictEqual([verified.status, verified.stderr], [0, ""])
    // no variable is in the unit: the commands, which do not read it, would have other settings than the gate
    assert.notMatch(text("voicegate.service"), /^Environment=/m)
    assert.match(text("voicegate.service"), /^EnvironmentFile=-\/etc\/voicegate\/environment$/m)
    assert.match(text("voicegate.service"), /^User=voicegate$/m)
    const { stdout } = analyze("security", "--offline=true", unit)
    assert.isBelow(Number(/exposure level for voicegate\.service: ([\d.]+)/.exec(stdout)?.[1]), 2)
  })

  it(
    "learns that the gate is ready, once it serves",
    withBench(async ({ gate, own }) => {
      const platform = own(await startPlatform())
      const directory = mkdtempSync(join(tmpdir(), "voicegate-systemd-"))
      try {
        // stands in for systemd's own program, and asks the gate at that moment
        const [told, program] = [join(directory, "told"), join(directory, "systemd-notify")]
        writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >>"${told}"\n`, { mode: 0o755 })
        const served = await gate({
          ...settingsFor(platform),
          NOTIFY_SOCKET: "/run/systemd/notify",
          PATH: `${directory}:${process.env.PATH}`,
        })
        await eventually("systemd is told", () => existsSync(told))
        assert.strictEqual((await served.ask("GET", "/health/live")).status, 200)
        await eventually("what it is told", () => readFileSync(told, "utf8") === "/run/systemd/notify --ready\n")
      } finally {
        rmSync(directory, { recursive: true })
      }
    }),
  )
})

/** The configuration of nginx as it is; the only differences: the ports, the directory of its logs, and no TLS. */
const served = (directory: string, port: number, redirecting: number): string =>
  text("nginx.conf")
    .replace("listen 443 ssl http2", `listen 127.0.0.1:${port}`)
    .replace("listen 80", `listen 127.0.0.1:${redirecting}`)
    .replaceAll(/^ *ssl_.*$/gm, "")
    .replaceAll("/var/log/nginx", directory)

describe("the configuration of nginx", () => {
  it(
    "passes on requests and events, and the caller's address instead of what the caller claims",
    withBench(async ({ gate, own }) => {
      const platform = own(await startPlatform())
      const { sessionEnded, url: gateUrl } = await gate({
        ...settingsFor(platform),
        VoiceAiPlatform__MaxConcurrency: "1",
        Security__TrustedProxies__0: "loopback",
        Security__RateLimitHourly: "3",
      })
      const [port, redirecting] = [await freePort(), await freePort()]
      own(
        await startNginx((directory) =>
          served(directory, port, redirecting).replace("127.0.0.1:8080", new URL(gateUrl).host),
        ),
      )
      const url = `http://127.0.0.1:${port}`
      await eventually("nginx", async () => (await fetch(`${url}/health/ready`)).status === 200)
      const plain = await fetch(`http://127.0.0.1:${redirecting}/widget.js?1`, { redirect: "manual" })
      assert.deepStrictEqual([plain.status, plain.headers.get("location")], [301, "https://127.0.0.1/widget.js?1"])
      const request = async (claimed: string) => {
        const headers = { "content-type": "application/json", "x-forwarded-for": claimed }
        const response = await fetch(`${url}/api/session/request`, { method: "POST", headers, body: "{}" })
        const json: unknown = await response.json()
        return { status: response.status, ticket: String(Reflect.get(Object(json), "uniqueRequestId")) }
      }
      assert.strictEqual((await request("203.0.113.1")).status, 200)
      const [first, second] = [await request("203.0.113.2"), await request("203.0.113.3")]
      assert.deepStrictEqual([first.status, second.status], [202, 202])
      const socket = own(await openSocket({ url }, first.ticket))
      const stream = own(await openEvents({ url }, second.ticket))
      await socket.sees("position", { position: 1 })
      await stream.sees("position", { position: 2 })
      // all came from one address, whatever they claimed
      assert.strictEqual((await request("203.0.113.4")).status, 429)
      assert.deepStrictEqual((await sessionEnded("conversation-1")).json, { released: true })
      await socket.sees("start_call")
      await stream.sees("position", { position: 1 })
    }),
  )
})

describe("the configuration of nginx, before two instances that restart one after the other", () => {
  it(
    "answers no 502, and logs no ticket",
    withBench(async ({ gate, own }) => {
      const platform = own(await startPlatform())
      const redis = own(await startRedis())
      const ports = [await freePort(), await freePort()]
      const startInstance = (port: number) =>
        gate({
          ...settingsFor(platform, { StoreConnectionString: redis.url, Server__Port: String(port) }),
          Security__TrustedProxies__0: "loopback",
        })
      const running = await Promise.all(ports.map(startInstance))
      const [port, redirecting] = [await freePort(), await freePort()]
      const { directory } = own(
        await startNginx((directory) =>
          served(directory, port, redirecting).replace(/server 127\.0\.0\.1:8080(.*;)/, (_, rest) =>
            ports.map((each) => `server 127.0.0.1:${each}${rest}`).join("\n"),
          ),
        ),
      )
      const url = `http://127.0.0.1:${port}`
      await eventually("nginx", async () => (await fetch(`${url}/health/ready`)).status === 200)
      const tickets = new Set<string>()
      const answered = new Set<string>()
      let stopped = false
      const client = async (): Promise<void> => {
        while (!stopped) {
          const response = await fetch(`${url}/api/session/request`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: "{}",
          })
          const json: unknown = await response.json().catch(() => ({}))
          answered.add(`${response.status} ${Reflect.get(Object(json), "code") ?? ""}`.trim())
          const ticket = Reflect.get(Object(json), "uniqueRequestId")
          if (typeof ticket !== "string") continue
          tickets.add(ticket)
          const { status } = await fetch(`${url}/api/session/${ticket}`)
          answered.add(String(status))
        }
      }
      const clients = Array.from({ length: 4 }, client)
      for (const [n, instance] of running.entries()) {
        const before = tickets.size
        await eventually("requests are answered", () => tickets.size > before + 20)
        instance.kill("SIGTERM")
        assert.deepStrictEqual(await instance.exit, { code: 0, signal: null })
        await startInstance(ports[n] ?? 0)
      }
      const before = tickets.size
      await eventually("requests are answered", () => tickets.size > before + 20)
      stopped = true
      await Promise.all(clients)
      // one that reached an instance in the moment in which it stopped accepting is told to ask again
      answered.delete("503 draining")
      assert.deepStrictEqual([...answered].toSorted(), ["200", "202"])
      const logged = readFileSync(join(directory, "voicegate.log"), "utf8")
      assert.include(logged, '/api/session/TICKET" 200 ')
      assert.include(logged, '/api/session/request" 20')
      const all = logged + readFileSync(join(directory, "voicegate-error.log"), "utf8")
      for (const ticket of tickets) assert.notInclude(all, ticket)
    }),
  )
})

describe("the configuration of Caddy", () => {
  it("is accepted, and logs no ticket", () => {
    const file = join(DIRECTORY, "Caddyfile")
    const adapted = spawnSync("caddy", ["validate", "--config", file, "--adapter", "caddyfile"], { encoding: "utf8" })
    assert.strictEqual(adapted.status, 0, adapted.stderr)
    const pattern = /request>uri regexp (\S+) (\S+)/.exec(text("Caddyfile"))
    const expression = new RegExp((pattern?.[1] ?? "").replace("(?i)", ""), "gi")
    const masked = (path: string) => path.replaceAll(expression, "$1")
    assert.strictEqual(masked("/api/session/7vQkT2mXq9ZbR4wYcL8sHdAbCd/start"), "/api/session//start")
    assert.strictEqual(masked("/sessionHub?id=7vQkT2mXq9ZbR4wYcL8sHd"), "/sessionHub")
    assert.strictEqual(masked("/api/session/request"), "/api/session/request")
  })
})

describe("the rules for Prometheus", () => {
  it("are accepted by promtool, fire once each, and are silent in ordinary operation", () => {
    const promtool = (...args: ReadonlyArray<string>): string =>
      execFileSync("promtool", [...args], { cwd: DIRECTORY, encoding: "utf8", stdio: "pipe" })
    assert.include(promtool("check", "rules", "prometheus-rules.yaml"), `SUCCESS: ${alerts.length} rules found`)
    assert.include(promtool("test", "rules", "prometheus-rules.test.yaml"), "SUCCESS")
    const tested = text("prometheus-rules.test.yaml")
    for (const alert of alerts) assert.include(tested, `name: ${alert} fires`)
  })

  it("are explained in the documentation, one row each, with their severity and how long they wait", () => {
    const documented = readFileSync(join(import.meta.dirname, "../../src/docs/monitoring.md"), "utf8")
    const waits = (pause = "") => (pause === "0m" ? "at once" : `for ${pause.replace("m", " min").replace("s", " s")}`)
    const severities = [...rules.matchAll(/^ +severity: (\w+)$/gm)].map(([, severity]) => severity)
    const pauses = [...rules.matchAll(/^ +for: (\w+)$/gm)].map(([, pause]) => waits(pause))
    assert.deepStrictEqual(
      [...documented.matchAll(/^\| `(Voicegate\w+)` \| (\w+) \| [^|]*, ([\w ]+) \|/gm)].map((row) => row.slice(1)),
      alerts.map((alert, n) => [alert, severities[n], pauses[n]]),
    )
  })

  it("are read by a Prometheus with the configuration that the documentation shows", () => {
    const documented = readFileSync(join(import.meta.dirname, "../../src/docs/monitoring.md"), "utf8")
    const [, configuration = ""] = /^```yaml\n(global:[\s\S]*?)^```/m.exec(documented) ?? []
    const directory = mkdtempSync(join(tmpdir(), "voicegate-prometheus-"))
    try {
      const file = join(directory, "prometheus.yml")
      writeFileSync(
        file,
        configuration.replace("/etc/prometheus/voicegate-rules.yaml", join(DIRECTORY, "prometheus-rules.yaml")),
      )
      const checked = execFileSync("promtool", ["check", "config", file], { encoding: "utf8", stdio: "pipe" })
      assert.include(checked, `SUCCESS: ${alerts.length} rules found`)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

describe("the rules and the dashboard", () => {
  it(
    "name metrics that a gate on Redis has from its first scrape",
    withBench(async ({ gate, own }) => {
      const redis = own(await startRedis())
      const platform = own(await startPlatform())
      const more = {
        StoreConnectionString: redis.url,
        Security__Shadow__BlockDatacenter: "true",
        VoiceAiPlatform__Events__Url: "http://127.0.0.1:9/",
        VoiceAiPlatform__Events__Secrets__0: `whsec_${Buffer.alloc(32, 7).toString("base64")}`,
        VoiceAiPlatform__Budgets__0__Name: "month",
        VoiceAiPlatform__Budgets__0__Of: "campaign",
        VoiceAiPlatform__Budgets__0__Unit: "minutes",
        VoiceAiPlatform__Budgets__0__Per: "month",
        VoiceAiPlatform__Budgets__0__Cap: "900",
      }
      const served = await gate(settingsFor(platform, more))
      const scraped = (await served.ask("GET", "/metrics")).text
      const dashboard: {
        readonly panels: ReadonlyArray<{ readonly targets: ReadonlyArray<{ readonly expr: string }> }>
      } = JSON.parse(text("grafana-dashboard.json"))
      const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
      assert.isAbove(queries.length, 20)
      for (const name of new Set([...expressions, ...queries].flatMap(metricNames))) {
        assert.match(scraped, new RegExp(`^${name}[{ ]`, "m"))
      }
      for (const [, name] of queries.join("\n").matchAll(/(\w+)\{campaign=/g)) {
        assert.match(scraped, new RegExp(`^${name}\\{campaign="default"`, "m"))
      }
      for (const [label] of expressions.join("\n").matchAll(/\b(?:outcome|state|result)="\w+"/g)) {
        assert.include(scraped, label)
      }
    }),
  )
})
