/** Redis commands of the gate, counted by name with MONITOR, without the sweep and the clock's TIME. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench, settingsFor } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { type Monitor, startMonitor } from "./support/monitor.ts"
import { openSocket } from "./support/push.ts"

const CONNECTED = 100

describe("round trips to Redis", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let platform: FakePlatform
  let monitor: Monitor
  let a: Gate
  let b: Gate
  /** the first in line, connected to A */
  let first = ""

  beforeAll(async () => {
    platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    monitor = bench.own(await startMonitor(redis))
    const settings = settingsFor(platform, {
      StoreConnectionString: redis.url,
      Security__TrustedProxies__0: "loopback",
      Security__RateLimitHourly: "2",
      Security__RateLimitDaily: "50",
    })
    ;[a, b] = await Promise.all([bench.gate(settings), bench.gate(settings)])
    for (const gate of [a, b]) {
      await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
    }
    // connected, with all scripts loaded
    await monitor.sees("queue.sweep")
    assert.strictEqual((await a.call("198.51.100.1")).status, 200)
    assert.deepStrictEqual((await b.sessionEnded("conversation-1")).json, { released: true })
    // an instance without connections sends no heartbeat but its first
    await eventually("the first heartbeats", async () => (await monitor.lines("queue.heartbeat")).length >= 2)
    await monitor.take()
  })

  it("needs one for an admission, and one more to bind the session", async () => {
    assert.strictEqual((await a.call("198.51.100.1")).status, 200)
    assert.deepStrictEqual(await monitor.take(), ["takeAndAdmit", "queue.bind"], "a request that is started")
    const queued = await b.call("198.51.100.2")
    first = textOf(queued, "uniqueRequestId")
    assert.deepStrictEqual(await monitor.take(), ["takeAndAdmit"], "a request that is queued")
  })

  it("needs one to refuse a caller by the limit, and none to refuse a bad request", async () => {
    assert.strictEqual((await b.call("198.51.100.1")).status, 429)
    assert.deepStrictEqual(await monitor.take(), ["takeAndAdmit"], "a request refused by the limit")
    assert.strictEqual((await b.call("198.51.100.9", { regionId: "mars" })).status, 400)
    assert.deepStrictEqual(await monitor.take(), [], "a request refused as invalid")
  })

  it("needs one for a webhook, also when the listener is on the other instance", async () => {
    const socket = bench.own(await openSocket(a, first))
    await socket.sees("position", { position: 1 })
    // the first heartbeat
    await monitor.sees("queue.heartbeat")
    await monitor.take()
    assert.deepStrictEqual((await b.sessionEnded("conversation-2")).json, { released: true })
    await socket.sees("start_call")
    const commands = (await monitor.take()).filter((name) => name !== "queue.heartbeat")
    assert.deepStrictEqual(commands, ["queue.end"])
    assert.deepStrictEqual((await b.sessionEnded("conversation-2")).json, { released: false })
    const repeated = (await monitor.take()).filter((name) => name !== "queue.heartbeat")
    assert.deepStrictEqual(repeated, ["queue.end"])
  })

  it(`needs one for a tick, which names none of ${CONNECTED} connected tickets that only wait`, async () => {
    const tickets = await Promise.all(
      Array.from({ length: CONNECTED }, async (_, i) => {
        const headers = { "x-forwarded-for": `203.0.113.${i + 1}` }
        const ticket = textOf(await b.call(headers["x-forwarded-for"]), "uniqueRequestId")
        const socket = bench.own(await openSocket(b, ticket, headers))
        await socket.sees("position")
        return ticket
      }),
    )
    const named = async (): Promise<ReadonlyArray<string>> => {
      const lines = await monitor.lines("queue.heartbeat")
      return tickets.filter((ticket) => lines.some((line) => line.includes(ticket)))
    }
    // the first tick names them all, and B holds them from then on
    await eventually("a tick of B", async () => (await named()).length === CONNECTED)
    await monitor.take()
    await eventually("two ticks of two instances", async () => (await monitor.lines("queue.heartbeat")).length >= 4)
    assert.deepStrictEqual(await named(), [])
    assert.deepStrictEqual([...new Set(await monitor.take())], ["queue.heartbeat"])
  })
})

describe("round trips to Redis of callers who poll", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  it("needs one for a poll, and writes it once in half a grace", async () => {
    const platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const monitor = bench.own(await startMonitor(redis))
    const GRACE_SECONDS = 10
    const settings = { StoreConnectionString: redis.url, Queue__DisconnectGraceSeconds: String(GRACE_SECONDS) }
    const gate = await bench.gate(settingsFor(platform, settings))
    await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
    await monitor.sees("queue.heartbeat")
    assert.strictEqual((await gate.call()).status, 200)
    const ticket = textOf(await gate.call(), "uniqueRequestId")
    const key = (await redis.command("KEYS", "*:presence")).trim()
    await monitor.take()
    const POLLS = 40
    const until = new Set<string>()
    const began = performance.now()
    for (let poll = 0; poll < POLLS; poll++) {
      assert.strictEqual(textOf(await gate.ask("GET", `/api/session/${ticket}`), "state"), "waiting")
      until.add(await redis.command("ZSCORE", key, ticket))
    }
    const halves = (performance.now() - began) / (GRACE_SECONDS * 500)
    const commands = (await monitor.take()).filter((name) => name !== "ZSCORE")
    assert.deepStrictEqual(commands, Array(POLLS).fill("queue.attach"))
    assert.isAtMost(until.size, 1 + Math.ceil(halves))
  })
})

describe("round trips to Redis with a limit of calls at once", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  it("needs one for the webhook, and gives the caller's unit back besides", async () => {
    const platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const monitor = bench.own(await startMonitor(redis))
    const gate = await bench.gate(
      settingsFor(platform, { StoreConnectionString: redis.url, Security__RateLimitConcurrency: "1" }),
    )
    await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
    // an instance without connections sends no heartbeat but its first, two seconds after its start
    await monitor.sees("queue.heartbeat")
    const round = async (session: string) => {
      assert.strictEqual((await gate.call()).status, 200)
      assert.strictEqual((await gate.call()).status, 429)
      await monitor.take()
      assert.deepStrictEqual((await gate.sessionEnded(session)).json, { released: true })
    }
    await round("conversation-1")
    await round("conversation-2")
    await monitor.sees("queue.acknowledge")
    const commands = await monitor.take()
    assert.deepStrictEqual(commands, ["queue.end", "limits.giveBack", "queue.acknowledge"])
    assert.strictEqual((await gate.call()).status, 200)
  })
})
