/** Callers lose nothing while a gate cannot reach the store or is suspended. Two gates on one Redis. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { type Cutter, startCutter } from "../chaos/support/cutter.ts"
import { Chance } from "../harness/chance.ts"
import { type Bench, type Environment, type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { field, textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

const preload = new URL("../chaos/support/stand-still.ts", import.meta.url).href

/** A gate whose path to Redis can be broken, and one whose path is not. */
const twoGates = async (bench: Bench, settings: Environment, ofBroken: Environment = {}) => {
  const redis = bench.own(await startRedis({ persistent: true }))
  const cutter: Cutter = bench.own(await startCutter(redis.port, new Chance(1)))
  const platform = bench.own(await startPlatform())
  const gate = async (storePort: number, more: Environment = {}): Promise<Gate> =>
    bench.gate(
      settingsFor(platform, {
        StoreConnectionString: `redis://127.0.0.1:${storePort}`,
        Security__TrustedProxies__0: "loopback",
        ...settings,
        ...more,
      }),
    )
  const healthy = await gate(redis.port)
  const broken = await gate(cutter.port, ofBroken)
  for (const each of [healthy, broken]) {
    await eventually("ready", async () => (await each.ask("GET", "/health/ready")).status === 200)
  }
  return { redis, cutter, platform, healthy, broken }
}

const addressOf = (n: number): string => `198.18.${n}.1`

/** A called ticket, with none waiting behind it. */
const calledTicket = async (gate: Gate): Promise<string> => {
  const first = await gate.call(addressOf(1))
  const ticket = textOf(await gate.call(addressOf(2)), "uniqueRequestId")
  assert.strictEqual(first.status, 200)
  await gate.sessionEnded("conversation-1")
  // a gate that has just stood still, as on a busy machine, holds calls for a moment
  await eventually("called", async () => (await gate.ask("GET", `/api/session/${ticket}`)).json.state === "called")
  return ticket
}

/** A page that tries to start every 100 ms, and its last answer. */
const startsAtLast = async (gate: Gate, ticket: string): Promise<string> => {
  for (;;) {
    const answer = await gate.ask("POST", `/api/session/${ticket}/start`)
    if (answer.status !== 503) return `${answer.status} ${field(answer, "message") ?? ""}`.trim()
    await sleep(100)
  }
}

// the longest first: five run at a time
describe.concurrent("a caller of a gate that was suspended", () => {
  for (const wall of ["goes on", "stands"]) {
    it(
      `keeps the place, though its machine was suspended for 40 s and the wall clock ${wall}`,
      withBench(async (bench) => {
        const settings = { Queue__DisconnectGraceSeconds: "30", Queue__StartWindowSeconds: "10" }
        const { broken, healthy } = await twoGates(bench, settings, {
          NODE_OPTIONS: `--import ${preload}`,
          CHAOS_WALL: wall === "stands" ? "stands" : "",
        })
        assert.strictEqual((await healthy.call(addressOf(1))).status, 200)
        broken.kill("SIGSTOP")
        await sleep(40_000)
        broken.kill("SIGCONT")
        const answers = await Promise.all([2, 3, 4].map((n) => broken.call(addressOf(n))))
        const tickets = answers.map((answer) => textOf(answer, "uniqueRequestId"))
        await sleep(4_000)
        const states = await Promise.all(
          tickets.map(async (ticket) => field(await healthy.ask("GET", `/api/session/${ticket}`), "state")),
        )
        assert.deepStrictEqual(states, ["waiting", "waiting", "waiting"])
      }),
    )
  }
})

describe.concurrent("callers of a gate that could not reach the store", () => {
  it(
    "keep their places although the outage was longer than the grace and the other gate sweeps",
    withBench(async (bench) => {
      const { broken, cutter, healthy } = await twoGates(bench, { Queue__DisconnectGraceSeconds: "5" })
      assert.strictEqual((await healthy.call(addressOf(1))).status, 200)
      const CALLERS = 50
      const connect = async (gate: Gate, ticket: string, n: number) =>
        bench.own(await openSocket(gate, ticket, { "x-forwarded-for": addressOf(n + 2) }))
      const tickets = await Promise.all(
        Array.from({ length: CALLERS }, async (_, n) => textOf(await broken.call(addressOf(n + 2)), "uniqueRequestId")),
      )
      const sockets = await Promise.all(tickets.map((ticket, n) => connect(broken, ticket, n)))
      await Promise.all(sockets.map((socket) => socket.sees("position")))
      cutter.swallow(true)
      await sleep(17_000)
      cutter.swallow(false)
      await eventually("ready again", async () => (await broken.ask("GET", "/health/ready")).status === 200, 20_000)
      // a gate without store sends its pages to others
      for (const socket of sockets) await socket.sees("reconnect")
      const back = await Promise.all(tickets.map((ticket, n) => connect(healthy, ticket, n)))
      await sleep(5_000)
      const abandoned = [...sockets, ...back].filter((socket) => socket.count("ended") > 0).length
      assert.strictEqual(abandoned, 0)
      await healthy.sessionEnded("conversation-1")
      await eventually("one is called", () => back.some((socket) => socket.count("start_call") > 0))
    }),
  )
})

describe.concurrent("a called page that could not start while a gate could not reach the store", () => {
  const window = { Queue__StartWindowSeconds: "6" }

  for (const connected of [true, false]) {
    const who = connected ? "is connected to it" : "polls"
    it(
      `starts when Redis is back after 2 s, and ${who}`,
      withBench(async (bench) => {
        const { broken, healthy, redis } = await twoGates(bench, window)
        const ticket = await calledTicket(healthy)
        const called = performance.now()
        if (connected) bench.own(await openSocket(broken, ticket))
        await sleep(4_800 - (performance.now() - called))
        redis.kill("SIGKILL")
        const answer = startsAtLast(broken, ticket)
        await sleep(2_000)
        await redis.restart()
        assert.strictEqual(await answer, "200")
      }),
    )

    it(
      `starts when that gate's path is whole again after 8 s, though the other one sweeps, and ${who}`,
      withBench(async (bench) => {
        const { broken, cutter, healthy } = await twoGates(bench, window)
        const ticket = await calledTicket(healthy)
        const called = performance.now()
        if (connected) bench.own(await openSocket(broken, ticket))
        await sleep(4_800 - (performance.now() - called))
        cutter.swallow(true)
        const answer = startsAtLast(broken, ticket)
        await sleep(8_000)
        cutter.swallow(false)
        assert.strictEqual(await answer, "200")
      }),
    )
  }

  it(
    "is never told that it has missed its start",
    withBench(async (bench) => {
      const { broken, healthy, redis } = await twoGates(bench, window)
      const ticket = await calledTicket(healthy)
      const called = performance.now()
      await sleep(5_000 - (performance.now() - called))
      redis.kill("SIGKILL")
      await sleep(2_000)
      await redis.restart()
      const past: Array<number> = []
      let told = 0
      while (performance.now() - called < 12_000) {
        const gate = told % 2 === 0 ? broken : healthy
        const asked = Date.now()
        const answer = await gate.ask("GET", `/api/session/${ticket}`)
        const startBefore = field(answer, "startBefore")
        if (startBefore !== undefined) {
          told++
          if (Date.parse(startBefore) < asked) past.push(Date.parse(startBefore) - asked)
        }
        await sleep(20)
      }
      // it was asked often; how often depends on the machine
      assert.isAbove(told, 10)
      assert.deepStrictEqual(past, [])
    }),
  )
})
