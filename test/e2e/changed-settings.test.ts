/**
 * Gates whose settings change or differ: a campaign that is removed while tickets wait and calls run, through a rolling restart and
 * back, and gates that notice each other's other slots and other database. What lasts takes a minute, for all of them at once.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Environment, type Gate, makeBench, settingsFor } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { openSocket, type Socket } from "./support/push.ts"

/** A minute without a gate that serves the campaign, or with a difference, and what it takes to be noticed. */
const MOST_MILLIS = 100_000
/** The tests of a suite run one after the other, while both suites run concurrently. */
const inOrder = { concurrent: false, timeout: 150_000 }
const SALES = { campaignId: "sales" }
const withSales: Environment = {
  VoiceAiPlatform__Campaigns__sales__WebCampaignId: "sales-1",
  VoiceAiPlatform__Campaigns__sales__MaxConcurrency: "1",
}

const ready = (gate: Gate): Promise<void> =>
  eventually("the gate is ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

/** The messages of the lines above `INFO` in a gate's log. */
const warnings = (gate: Gate): ReadonlyArray<string> =>
  gate
    .output()
    .split("\n")
    .flatMap((line) => {
      if (!line.startsWith("{")) return []
      const { level, message }: { readonly level?: string; readonly message?: string } = JSON.parse(line)
      return level === "INFO" || message === "request" ? [] : [String(message)]
    })
const warned = (gate: Gate, words: RegExp): Promise<void> =>
  eventually(String(words), () => warnings(gate).some((line) => words.test(line)), MOST_MILLIS)

describe.concurrent("gates of which one lacks a campaign", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let settings: Environment
  let old: Gate
  let next: Gate
  const tickets: Array<string> = []
  let socket: Socket

  beforeAll(async () => {
    const platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    settings = settingsFor(platform, { StoreConnectionString: redis.url, Queue__DisconnectGraceSeconds: "120" })
    ;[old, next] = await Promise.all([bench.gate({ ...settings, ...withSales }), bench.gate(settings)])
    await Promise.all([old, next].map(ready))
  }, MOST_MILLIS)

  it("accept the webhooks of a campaign that is removed here and served elsewhere", inOrder, async () => {
    assert.strictEqual((await old.call(undefined, SALES)).status, 200)
    for (let n = 0; n < 3; n++) tickets.push(textOf(await old.call(undefined, SALES), "uniqueRequestId"))
    socket = bench.own(await openSocket(old, tickets[0] ?? ""))
    await eventually("the campaign is known here", async () => {
      return (await next.ask("GET", `/api/session/${tickets[0]}`)).status === 200
    })
    assert.deepStrictEqual((await next.sessionEnded("conversation-1")).json, { released: true })
    await socket.sees("start_call")
    assert.strictEqual((await old.ask("POST", `/api/session/${tickets[0]}/start`)).status, 200)
    assert.strictEqual((await next.call(undefined, SALES)).status, 400)
  })

  it(
    "tell waiting callers that the campaign is gone, after the last gate that served it has stopped",
    inOrder,
    async () => {
      old.kill("SIGTERM")
      await old.exit
      const [, waiting = "", polled = ""] = tickets
      const moved = bench.own(await openSocket(next, waiting))
      await moved.sees("position", { position: 1 })
      await eventually("the end", () => moved.count("ended") === 1, MOST_MILLIS)
      await moved.sees("ended", { reason: "removed" })
      for (const ticket of [waiting, polled]) {
        const status = await next.ask("GET", `/api/session/${ticket}`)
        assert.deepStrictEqual([status.status, status.json.state], [200, "removed"])
        const start = await next.ask("POST", `/api/session/${ticket}/start`)
        assert.deepStrictEqual([start.status, start.json.state], [410, "removed"])
      }
      await warned(next, /^Campaign sales \(business-1\/sales-1\) is no longer in any gate's settings\./)
    },
  )

  it(
    "accept the webhook of a call that still runs, and have its slot free when the campaign is back",
    inOrder,
    async () => {
      assert.deepStrictEqual((await next.sessionEnded("conversation-2")).json, { released: true })
      assert.deepStrictEqual((await next.sessionEnded("conversation-2")).json, { released: false })
      const back = await bench.gate({ ...settings, ...withSales })
      await ready(back)
      assert.strictEqual((await back.call(undefined, SALES)).status, 200)
      assert.strictEqual((await back.call(undefined, SALES)).status, 202)
    },
  )
})

describe.concurrent("gates whose settings differ", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let three: Gate
  let five: Gate
  let elsewhere: Gate

  beforeAll(async () => {
    const platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const differing = (database: number, slots: number): Promise<Gate> =>
      bench.gate(
        settingsFor(platform, {
          StoreConnectionString: `${redis.url}/${database}`,
          VoiceAiPlatform__MaxConcurrency: String(slots),
        }),
      )
    ;[three, five, elsewhere] = await Promise.all([differing(0, 3), differing(0, 5), differing(1, 3)])
    await Promise.all([three, five, elsewhere].map(ready))
  }, MOST_MILLIS)

  it("log different slots, each once", inOrder, async () => {
    await warned(three, /VoiceAiPlatform\.MaxConcurrency is 3 here and 5 there\. Each instance uses its own/)
    await warned(five, /VoiceAiPlatform\.MaxConcurrency is 5 here and 3 there\. Each instance uses its own/)
    for (const gate of [three, five]) {
      assert.lengthOf(
        warnings(gate).filter((line) => line.includes("different settings")),
        1,
      )
    }
  })

  it("detect a gate for the same campaign on another database of the server", inOrder, async () => {
    for (const gate of [three, elsewhere]) {
      await warned(gate, /serves the same campaign as .* with another database of the same Redis server: default\./)
    }
    assert.lengthOf(
      warnings(elsewhere).filter((line) => line.includes("different settings")),
      0,
    )
  })
})
