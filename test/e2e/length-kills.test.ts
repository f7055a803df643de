/** The time limit of a call when the gate that is to end it dies at that moment: another one ends it, in time and once. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { type Bench, type Environment, type Gate, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startCluster } from "../harness/redis-topologies.ts"

const LIMIT_SECONDS = 20
const NAMES = ["a", "b"] as const

interface End {
  /** the gate that has asked, by its key */
  readonly by: string
  readonly path: string
  readonly at: number
}

/** A vendor that starts every call, and answers no request to end one until `answers` is set. */
const startVendor = async () => {
  const ends: Array<End> = []
  const vendor = { ends, answers: false, url: "", dispose: async () => {} }
  let calls = 0
  const server = createServer((request, response) => {
    const path = request.url ?? ""
    if (path.endsWith("/end")) {
      ends.push({ by: request.headers.authorization?.split(" ")[1] ?? "", path, at: Date.now() })
      if (vendor.answers) response.end("{}")
      return
    }
    const id = `call-${++calls}`
    response.writeHead(201, { "content-type": "application/json" })
    response.end(JSON.stringify({ id, url: `wss://vendor.example/${id}` }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  vendor.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  vendor.dispose = async () => {
    server.closeAllConnections()
    server.close()
  }
  return vendor
}

const settingsFor = (vendor: string, redis: string, name: string): Environment => ({
  StoreConnectionString: redis,
  VoiceAiPlatform__Platform: "generic",
  VoiceAiPlatform__MaxConcurrency: "1",
  VoiceAiPlatform__MaxCallSeconds: String(LIMIT_SECONDS),
  VoiceAiPlatform__Generic__BaseUrl: vendor,
  VoiceAiPlatform__Generic__AgentId: "agent-1",
  VoiceAiPlatform__Generic__Headers__0: `Authorization: Bearer ${name}-key-of-a-gate-0123456789`,
  VoiceAiPlatform__Generic__StartPath: "calls",
  VoiceAiPlatform__Generic__SessionIdField: "id",
  VoiceAiPlatform__Generic__UrlField: "url",
  VoiceAiPlatform__Generic__EndPath: "calls/{{sessionId}}/end",
  Security__RateLimitHourly: "0",
  Security__RateLimitDaily: "0",
  Security__RateLimitConcurrency: "0",
  Security__StatusPerMinute: "0",
  Server__Host: "127.0.0.1",
  Server__Port: "0",
})

const exercise = async (bench: Bench, redis: string): Promise<void> => {
  const vendor = bench.own(await startVendor())
  const [a, b] = await Promise.all(NAMES.map((name) => bench.gate(settingsFor(vendor.url, redis, name))))
  const gates: ReadonlyMap<string, Gate | undefined> = new Map([
    ["a", a],
    ["b", b],
  ])
  if (a === undefined || b === undefined) throw new Error("two gates run")
  for (const gate of [a, b])
    await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

  const started = await a.call()
  assert.strictEqual(started.status, 200, started.text)
  const endsAt = Date.parse(textOf(started, "endsAt"))
  const ticket = textOf(started, "uniqueRequestId")
  await eventually("a gate asks the vendor to end the call", () => vendor.ends.length > 0)
  const [first] = vendor.ends
  const name = first?.by.slice(0, 1) ?? ""
  gates.get(name)?.kill("SIGKILL")
  vendor.answers = true
  assert.isAtLeast(first?.at ?? 0, endsAt)

  await eventually("another gate asks", () => vendor.ends.length > 1)
  const second = vendor.ends[1]
  assert.notStrictEqual(second?.by, first?.by)
  assert.strictEqual(second?.path, first?.path)
  // half a minute of the limit, and what a busy machine adds
  assert.isAtMost((second?.at ?? 0) - endsAt, 32_000)
  const survivor = name === "a" ? b : a
  const state = async () => (await survivor.ask("GET", `/api/session/${ticket}`)).json.state
  await eventually("the call is over", async () => (await state()) === "too_long")
  const next = await survivor.call()
  assert.strictEqual(next.status, 200, next.text)
  assert.lengthOf(
    vendor.ends.filter(({ path }) => path === first?.path),
    2,
  )
}

describe("a gate that dies while it is to end a call at its limit", () => {
  it.concurrent(
    "leaves that to another one, on one Redis",
    withBench(async (bench) => exercise(bench, bench.own(await startRedis()).url)),
  )

  it.concurrent(
    "leaves that to another one, on a Redis Cluster",
    withBench(async (bench) => exercise(bench, bench.own(await startCluster()).url)),
  )
})
