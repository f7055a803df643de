/** Two gates with several campaigns on every kind of Redis. */
import { assert, describe, it } from "@effect/vitest"
import { type Bench, type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startCluster, startSentinel } from "../harness/redis-topologies.ts"
import { startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

const CAMPAIGNS = ["default", "support", "campaign-3"]

/** Two gates with three campaigns of one slot each. */
const start = async (bench: Bench, url: string) => {
  const platform = bench.own(await startPlatform())
  const settings = settingsFor(platform, {
    StoreConnectionString: url,
    VoiceAiPlatform__Campaigns__support__WebCampaignId: "campaign-2",
    VoiceAiPlatform__Campaigns__support__MaxConcurrency: "1",
    VoiceAiPlatform__Campaigns__sales__WebCampaignId: "campaign-3",
    VoiceAiPlatform__Campaigns__sales__BusinessId: "business-2",
    VoiceAiPlatform__Campaigns__sales__MaxConcurrency: "1",
    Security__RateLimitHourly: "100",
  })
  const [a, b] = await Promise.all([bench.gate(settings), bench.gate(settings)])
  for (const gate of [a, b]) {
    await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
  }
  return { a, b, platform }
}

const call = (gate: Gate, campaignId: string) => gate.call(undefined, campaignId === "default" ? {} : { campaignId })

/** Each campaign has a slot and a queue of its own: admission at one gate, listener at the other, webhook at the first. */
const exercise = async (bench: Bench, url: string): Promise<void> => {
  const { a, b, platform } = await start(bench, url)
  const waiting: Array<{ readonly ticket: string; readonly session: string }> = []
  for (const campaign of CAMPAIGNS) {
    const started = await call(a, campaign)
    assert.strictEqual(started.status, 200, started.text)
    const session = platform.starts.at(-1)?.sessionId ?? ""
    const queued = await call(b, campaign)
    assert.deepStrictEqual([queued.status, queued.json.queuePosition], [202, 1])
    waiting.push({ ticket: textOf(queued, "uniqueRequestId"), session })
  }
  assert.deepStrictEqual(
    platform.starts.map(({ body, path }) => [path.split("/")[4], body.webCampaignId]),
    [
      ["business-1", "campaign-1"],
      ["business-1", "campaign-2"],
      ["business-2", "campaign-3"],
    ],
  )
  const sockets = await Promise.all(waiting.map(async ({ ticket }) => bench.own(await openSocket(a, ticket))))
  for (const [index, { session, ticket }] of waiting.entries()) {
    assert.deepStrictEqual((await b.sessionEnded(session)).json, { released: true })
    await sockets[index]?.sees("start_call")
    assert.deepStrictEqual(
      sockets.map((socket) => socket.count("start_call")),
      waiting.map((_, i) => (i <= index ? 1 : 0)),
    )
    const answer = await b.ask("POST", `/api/session/${ticket}/start`)
    assert.strictEqual(answer.status, 200, answer.text)
    assert.deepStrictEqual((await a.sessionEnded(session)).json, { released: false })
  }
}

describe("two gates with several campaigns", () => {
  it.concurrent(
    "keep each campaign's slots and queue apart on one Redis",
    withBench(async (bench) => exercise(bench, bench.own(await startRedis()).url)),
  )

  it.concurrent(
    "work on a Redis Cluster",
    withBench(async (bench) => exercise(bench, bench.own(await startCluster()).url)),
  )

  it.concurrent(
    "work behind Sentinels, and go on after a fail-over",
    withBench(async (bench) => {
      const sentinels = bench.own(await startSentinel())
      await exercise(bench, sentinels.url)
      const { a, b } = await start(bench, sentinels.url)
      const queued = await call(a, "default")
      assert.strictEqual(queued.status, 202)
      const ticket = textOf(queued, "uniqueRequestId")
      await sentinels.replicated()
      sentinels.master.kill("SIGKILL")
      await eventually("the other master", async () => (await sentinels.masterPort()) === sentinels.replica.port)
      await eventually("both gates", async () => {
        const answers = await Promise.all([a, b].map((gate) => gate.ask("GET", "/health/ready")))
        return answers.every(({ status }) => status === 200)
      })
      assert.deepStrictEqual((await b.ask("GET", `/api/session/${ticket}`)).json.state, "waiting")
    }),
  )
})
