/** Recovery by deadlines, in real time: the slots of a dead instance, and a platform that never answers. */

import { assert, describe, it } from "@effect/vitest"
import { START_LEASE_MILLIS } from "../../src/fifo-queue/bounds.ts"
import { DOUBT_AGE_MILLIS } from "../../src/gatekeeper/calls/doubts.ts"
import { type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually, freePort } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type Scripted, startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

const ready = (gate: Gate): Promise<void> =>
  eventually("the gate is ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

/** How many starts are in doubt, as the gate's metrics say. */
const inDoubt = async (gate: Gate): Promise<number> =>
  Number(/^voicegate_starts_in_doubt\{.*\} (\d+)$/m.exec((await gate.ask("GET", "/metrics")).text)?.[1])

/** A documentation address (RFC 5737), which is never looked up. */
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
      assert.strictEqual(await unanswered, "broken")
      platform.script = undefined

      // the first in line was connected to A and does not come back
      assert.deepStrictEqual((await b.sessionEnded("conversation-1")).json, { released: true })

      // the start that A never finished may have happened: that is known when the platform's history has said twice that it has not
      await eventually("the dead start is in doubt", async () => (await inDoubt(b)) === 1, 40_000)
      assert.isAtLeast(performance.now() - died, START_LEASE_MILLIS - 5_000)
      await eventually("the dead start is freed", async () => (await inDoubt(b)) === 0, 30_000)
      // its caller, who is first again, and the one who was called: A might still have come back with them until DEAD_MILLIS
      assert.deepStrictEqual([two.count("start_call"), three.count("start_call")], [0, 0])
      for (const [ticket, socket] of [
        [second, two],
        [third, three],
      ] as const) {
        await eventually(
          "the turn of the dead instance's callers has passed",
          () => socket.count("start_call") === 1,
          40_000,
        )
        assert.strictEqual((await b.ask("POST", `/api/session/${ticket}/start`)).status, 200)
      }
      assert.strictEqual((await b.ask("GET", `/api/session/${first}`)).json.state, "missed")
    }),
    120_000,
  )

  it.concurrent(
    "a start that may have happened holds its slot until the history has said twice that it has not, or its session ends",
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const settings = { Security__TrustedProxies__0: "loopback", VoiceAiPlatform__MaxConcurrency: "4" }
      const gate = await bench.gate(settingsFor(platform, settings))
      const stateOf = async (ticket: string) => (await gate.ask("GET", `/api/session/${ticket}`)).json.state
      const start = (ticket: string) => gate.ask("POST", `/api/session/${ticket}/start`)
      const failures: ReadonlyArray<readonly [what: string, scripted: Scripted]> = [
        ["500", { status: 500, body: "oops" }],
        ["200 without the URL, and a session that runs", { status: 200, body: { success: true, data: { id: "s" } } }],
        ["200 that is not JSON", { status: 200, body: "<html>" }],
        ["a connection that breaks", "reset"],
      ]
      const tickets: Array<string> = []
      for (const [index, [what, scripted]] of failures.entries()) {
        platform.script = (call) => {
          if (index === 1) call.begin()
          return scripted
        }
        const answer = await gate.call(addressOf(20 + index))
        assert.deepStrictEqual([answer.status, answer.json.queuePosition], [202, index + 1], what)
        const ticket = textOf(answer, "uniqueRequestId")
        bench.own(await openSocket(gate, ticket))
        tickets.push(ticket)
        if (index === 0) continue
        await eventually("it is called", async () => (await stateOf(ticket)) === "called")
        const failed = await start(ticket)
        assert.deepStrictEqual([failed.status, failed.json.code], [409, "agent_unavailable"], what)
      }
      platform.script = undefined
      await eventually("four are in doubt", async () => (await inDoubt(gate)) === 4)
      const behind = await gate.call(addressOf(30))
      assert.deepStrictEqual([behind.status, behind.json.queuePosition], [202, 5])
      tickets.push(textOf(behind, "uniqueRequestId"))
      bench.own(await openSocket(gate, tickets[4] ?? ""))
      const began = performance.now()

      const states = async () => (await Promise.all(tickets.map(stateOf))).join(" ")
      await eventually(
        "three slots are free",
        async () => (await states()) === "called called called waiting waiting",
        45_000,
      )
      // not sooner than the platform can be asked, for anybody
      assert.isAbove(performance.now() - began, DOUBT_AGE_MILLIS - 5_000)
      assert.strictEqual(platform.starts.length, 4)
      await eventually("none is in doubt", async () => (await inDoubt(gate)) === 0)
      for (const ticket of tickets.slice(0, 3)) assert.strictEqual((await start(ticket)).status, 200)
      assert.deepStrictEqual((await gate.sessionEnded(platform.starts[1]?.sessionId ?? "")).json, { released: true })
      await eventually("the fourth slot is free", async () => (await states()) === "live live live called waiting")
    }),
    120_000,
  )

  it.concurrent(
    "callers keep their place when the platform refuses the connection, and when no answer comes",
    withBench(async (own) => {
      const hanging = own.own(await startPlatform())
      hanging.script = () => "hang"
      const nowhere = `http://127.0.0.1:${await freePort()}/api/v1`
      const [refusing, waiting] = await Promise.all([
        own.gate(settingsFor({ baseUrl: nowhere })),
        own.gate(settingsFor(hanging)),
      ])
      const began = performance.now()
      const [refused, timedOut] = await Promise.all([
        refusing.call().finally(() => assert.isBelow(performance.now() - began, 5_000)),
        waiting.call(),
      ])
      assert.isAbove(performance.now() - began, 14_000)
      assert.deepStrictEqual([refused.status, refused.json.queuePosition, refused.json.disrupted], [202, 1, true])
      assert.deepStrictEqual(
        [timedOut.status, timedOut.json.queuePosition, timedOut.json.disrupted],
        [202, 1, undefined],
      )
      hanging.script = undefined
      const socket = own.own(await openSocket(waiting, textOf(timedOut, "uniqueRequestId")))
      await eventually("it is called again", () => socket.count("start_call") === 1, 40_000)
      const { status } = await waiting.ask("POST", `/api/session/${textOf(timedOut, "uniqueRequestId")}/start`)
      assert.strictEqual(status, 200)
    }),
    120_000,
  )
})
