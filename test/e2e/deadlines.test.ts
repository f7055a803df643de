/** What only a deadline ends, in real time: the slots of a dead instance, and a platform that never answers. */
import { assert, describe, it } from "@effect/vitest"
import { eventually, freePort } from "../support/process.ts"
import { startRedis } from "../support/redis.ts"
import { note, noted } from "./support/evidence.ts"
import { type Gate, settingsFor, withBench } from "./support/gate.ts"
import { textOf } from "./support/http.ts"
import { openSocket } from "./support/push.ts"
import { startPlatform } from "./support/servers.ts"

const TOPIC = "2-two-instances"
const PLATFORM = "3-platform-failures"

const ready = (gate: Gate): Promise<void> =>
  eventually("the gate is ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

/** An address of documentation (RFC 5737), which nobody looks up. */
const addressOf = (caller: number): string => `198.51.100.${caller}`

describe("in time", () => {
  it.concurrent(
    "an instance that dies in the middle loses no slot: what it held is freed by its deadline, and the next are called",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const redis = bench.own(await startRedis())
      const settings = settingsFor(platform, {
        StoreConnectionString: redis.url,
        Security__TrustedProxies__0: "loopback",
        VoiceAiPlatform__MaxConcurrency: "2",
        Queue__StartWindowSeconds: "2",
      })
      const [a, b] = await Promise.all([bench.gate(settings), bench.gate(settings)])
      await Promise.all([ready(a), ready(b)])

      // one slot is live, the other is being started by A when A dies
      assert.strictEqual((await b.call(addressOf(1))).status, 200)
      platform.script = () => "hang"
      const unanswered = a.call(addressOf(2)).then(
        () => assert.fail("an answer of a dead process"),
        () => "broken",
      )
      await eventually("the start is under way", () => platform.starts.length === 2)
      const tickets = [textOf(await a.call(addressOf(3)), "uniqueRequestId")]
      for (const caller of [4, 5]) tickets.push(textOf(await b.call(addressOf(caller)), "uniqueRequestId"))
      const [first = "", second = "", third = ""] = tickets
      bench.own(await openSocket(a, first))
      const [two, three] = await Promise.all([openSocket(b, second), openSocket(b, third)])
      bench.own(two)
      bench.own(three)
      a.kill("SIGKILL")
      const died = performance.now()
      const seconds = () => ((performance.now() - died) / 1000).toFixed(1)
      assert.strictEqual(await unanswered, "broken")
      platform.script = undefined

      // the first in line was connected to A and does not come back
      assert.deepStrictEqual((await b.sessionEnded("conversation-1")).json, { released: true })

      // the start that A never finished is given up after START_LEASE_MILLIS
      await eventually("the dead start is freed", () => two.count("start_call") === 1, 40_000)
      note(
        TOPIC,
        `the slot that the dead instance was starting was freed and given on ${seconds()} s after the kill (deadline 30 s)`,
      )
      assert.strictEqual((await b.ask("POST", `/api/session/${second}/start`)).status, 200)
      assert.strictEqual(three.count("start_call"), 0)

      // A might still have come back until DEAD_MILLIS
      await eventually("the turn has passed", () => three.count("start_call") === 1, 30_000)
      note(
        TOPIC,
        `the called ticket of the dead instance missed its turn (window 2 s), and the next was called ${seconds()} s after the kill (45 s until a silent instance counts as dead)`,
      )
      assert.strictEqual((await b.ask("POST", `/api/session/${third}/start`)).status, 200)
      assert.strictEqual((await b.ask("GET", `/api/session/${first}`)).status, 200)
      assert.strictEqual((await b.ask("GET", `/api/session/${first}`)).json.state, "missed")
    }),
    120_000,
  )

  it.concurrent(
    "callers get a 503 when the platform refuses the connection, and when no answer comes",
    withBench(async (own) => {
      const hanging = own.own(await startPlatform())
      hanging.script = () => "hang"
      const nowhere = `http://127.0.0.1:${await freePort()}/api/v1`
      const [refusing, waiting] = await Promise.all([
        own.gate(settingsFor({ baseUrl: nowhere })),
        own.gate(settingsFor(hanging)),
      ])
      const began = performance.now()
      const [refused, timedOut] = await Promise.all([refusing.call(), waiting.call()])
      for (const [what, answer] of [
        ["connection refused", refused],
        ["no answer in 15 s", timedOut],
      ] as const) {
        noted(PLATFORM, `platform: ${what}`, answer)
        assert.deepStrictEqual([answer.status, answer.json.code], [503, "platform_unavailable"])
      }
      assert.isAbove(performance.now() - began, 14_000)
      hanging.script = undefined
      assert.strictEqual((await waiting.call()).status, 200)
    }),
  )
})
