/** Two gates on one Redis: one queue, whichever instance admits, holds the connection, or dies. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench, settingsFor } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { openSocket, type Socket } from "./support/push.ts"

const ready = (gate: Gate): Promise<void> =>
  eventually("the gate is ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)

/** A documentation address (RFC 5737), which is never looked up. */
const addressOf = (caller: number): string => `198.51.100.${caller}`

describe("two hundred callers at once, two instances, ten slots", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let platform: FakePlatform
  let a: Gate
  let b: Gate
  /** the tickets that wait, first in line first, each with its socket */
  let line: Array<{ readonly ticket: string; readonly address: string; readonly socket: Socket }> = []

  const calledTickets = () => line.filter(({ socket }) => socket.count("start_call") > 0).map(({ ticket }) => ticket)

  beforeAll(async () => {
    platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const settings = settingsFor(platform, {
      StoreConnectionString: redis.url,
      Security__TrustedProxies__0: "loopback",
      VoiceAiPlatform__MaxConcurrency: "10",
      Queue__StartWindowSeconds: "60",
    })
    ;[a, b] = await Promise.all([bench.gate(settings), bench.gate(settings)])
    await Promise.all([ready(a), ready(b)])
  })

  it("starts exactly ten and gives the others 190 distinct places", async () => {
    const callers = Array.from({ length: 200 }, (_, i) => ({ address: addressOf(i + 1), gate: i % 2 === 0 ? a : b }))
    const answers = await Promise.all(
      callers.map(async ({ address, gate }) => ({ address, answer: await gate.call(address) })),
    )
    const statuses = answers.map(({ answer }) => answer.status)
    assert.strictEqual(statuses.filter((status) => status === 200).length, 10)
    assert.strictEqual(platform.starts.length, 10)
    const waiting = answers
      .filter(({ answer }) => answer.status === 202)
      .sort((x, y) => Number(x.answer.json.queuePosition) - Number(y.answer.json.queuePosition))
    assert.deepStrictEqual(
      waiting.map(({ answer }) => answer.json.queuePosition),
      Array.from({ length: 190 }, (_, i) => i + 1),
    )
    line = await Promise.all(
      waiting.map(async ({ address, answer }) => {
        const ticket = textOf(answer, "uniqueRequestId")
        const socket = bench.own(await openSocket(a, ticket, { "x-forwarded-for": address }))
        return { ticket, address, socket }
      }),
    )
    await Promise.all(line.map(({ socket }, i) => socket.sees("position", { position: i + 1 })))
  })

  it("calls exactly the first in line, listening on one instance, for each webhook at the other", async () => {
    for (const [index, { sessionId }] of platform.starts.slice(0, 10).entries()) {
      assert.deepStrictEqual((await b.sessionEnded(sessionId)).json, { released: true })
      await line[index]?.socket.sees("start_call")
      assert.deepStrictEqual(
        calledTickets(),
        line.slice(0, index + 1).map(({ ticket }) => ticket),
      )
    }
    await Promise.all(
      line.slice(0, 10).map(async ({ ticket }, i) => {
        const gate = i % 2 === 0 ? a : b
        assert.strictEqual((await gate.ask("POST", `/api/session/${ticket}/start`)).status, 200)
      }),
    )
    assert.strictEqual(platform.starts.length, 20)
    assert.deepStrictEqual(
      line.map(({ socket }) => socket.count("start_call")),
      line.map((_, i) => (i < 10 ? 1 : 0)),
    )
  })

  it("goes on when an instance is killed: its callers keep their places at the other", async () => {
    a.kill("SIGKILL")
    assert.deepStrictEqual(await a.exit, { code: null, signal: "SIGKILL" })
    line = await Promise.all(
      line.slice(10).map(async ({ address, ticket }) => {
        const socket = bench.own(await openSocket(b, ticket, { "x-forwarded-for": address }))
        return { ticket, address, socket }
      }),
    )
    await Promise.all(line.map(({ socket }, i) => socket.sees("position", { position: i + 1 })))
    for (const [index, { sessionId }] of platform.starts.slice(10, 13).entries()) {
      assert.deepStrictEqual((await b.sessionEnded(sessionId)).json, { released: true })
      await line[index]?.socket.sees("start_call")
    }
    assert.strictEqual(calledTickets().length, 3)
  })
})
