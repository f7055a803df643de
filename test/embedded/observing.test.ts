/** What a host sees of its gate: readiness, a ticket's events, outcomes and calls. */
import { setImmediate as nextTurn } from "node:timers/promises"
import { assert, describe, it } from "vitest"
import type { CallEvent, Gate, OutcomeEvent, PushEvent } from "../../src/index.ts"
import { eventually } from "../harness/process.ts"
import { rejection, useGates } from "./support.ts"

const gates = useGates()
const here = { address: "127.0.0.1" }

const queued = async (gate: Gate): Promise<string> => {
  const result = await gate.request({}, here)
  if (result.status !== "queued") throw new Error(`not queued: ${JSON.stringify(result)}`)
  return result.uniqueRequestId
}

const iteratorOf = (gate: Gate, ticket: string): AsyncIterator<PushEvent> => gate.events(ticket)[Symbol.asyncIterator]()

describe("gate.ready", () => {
  it("is ready until it closes", async () => {
    const gate = await gates.create()
    assert.deepEqual(await gate.ready(), { status: "ready" })
    await gate.close()
    assert.deepEqual(await gate.ready(), { status: "refused", code: "not_ready", message: "The gate is closed." })
  })
})

describe("gate.events", () => {
  it("begins with the ticket's state and ends with the ticket", async () => {
    const gate = await gates.create()
    await gate.request({}, here)
    const ticket = await queued(gate)
    const types: Array<string> = []
    for await (const event of gate.events(ticket)) {
      types.push(event.type)
      if (event.type === "position") await gate.sessionEnded("session-1")
      if (event.type !== "start_call") continue
      const call = await gate.start(ticket)
      assert.equal(call.status, "started")
      await gate.sessionEnded("session-2")
    }
    assert.deepEqual(types, ["position", "start_call", "ended"])
  })

  it("gate.events of an unknown ticket are that it has ended", async () => {
    const gate = await gates.create()
    const events: Array<PushEvent> = []
    for await (const event of gate.events("nobody")) events.push(event)
    assert.deepEqual(
      events.map((event) => (event.type === "ended" ? event.reason : event.type)),
      ["unknown"],
    )
  })

  it("end when the iterator returns, also while it waits, and free their connection", async () => {
    const gate = await gates.create()
    await gate.request({}, here)
    const ticket = await queued(gate)
    // a ticket has three connections at most: a fourth would replace one that was not closed
    const first = iteratorOf(gate, ticket)
    assert.equal((await first.next()).value.type, "position")
    for (let n = 0; n < 4; n++) {
      const iterator = iteratorOf(gate, ticket)
      await iterator.next()
      const waits = iterator.next()
      await iterator.return?.()
      assert.isTrue((await waits).done)
    }
    await gate.sessionEnded("session-1")
    assert.equal((await first.next()).value.type, "start_call")
  })

  it("end with a reconnect when the gate closes, after which they reject", async () => {
    const gate = await gates.create()
    await gate.request({}, here)
    const ticket = await queued(gate)
    const iterator = iteratorOf(gate, ticket)
    await iterator.next()
    await gate.close()
    assert.equal((await iterator.next()).value.type, "reconnect")
    assert.isTrue((await iterator.next()).done)
    assert.equal((await rejection(iteratorOf(gate, ticket).next())).message, "The gate is closed.")
  })
})

describe("gate.on", () => {
  it("tells outcomes and calls, whoever asked", async () => {
    const gate = await gates.create({ RateLimitHourly: 2 })
    const outcomes: Array<OutcomeEvent> = []
    const calls: Array<CallEvent> = []
    const off = gate.on("outcome", (event) => outcomes.push(event))
    gate.on("call", (event) => calls.push(event))
    await gate.request({}, here)
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
    const response = await gate.fetch(new Request("http://gate.example/api/session/request", init), here)
    const { uniqueRequestId: ticket } = JSON.parse(await response.text())
    await gate.request({}, here)
    await gate.start(ticket)
    await gate.sessionEnded("session-1")
    await gate.sessionEnded("session-1")
    await gate.start(ticket)
    await eventually("every event", () => calls.length === 5 && outcomes.length === 3)
    const { address } = here
    assert.deepEqual(outcomes, [
      { outcome: "started", address },
      { outcome: "queued", address, queuePosition: 1 },
      { outcome: "rate_limited", address },
    ])
    assert.deepEqual(calls, [
      { type: "started", sessionId: "session-1" },
      { type: "not_started", code: "not_your_turn" },
      { type: "ended", sessionIds: ["session-1"], released: true },
      { type: "ended", sessionIds: ["session-1"], released: false },
      { type: "started", sessionId: "session-2" },
    ])
    off()
    await gate.request({}, here)
    await nextTurn()
    assert.lengthOf(outcomes, 3)
  })

  it("answers the caller although listeners throw or never finish, and logs each listener's first failure", async () => {
    const log: Array<string> = []
    const gate = await gates.create({}, { log: ({ message }) => log.push(message) })
    let told = 0
    gate.on("outcome", () => {
      told++
      throw new Error("thrown by the host")
    })
    gate.on("outcome", async () => {
      told++
      await Promise.reject(new Error("rejected by the host"))
    })
    gate.on("outcome", () => {
      told++
      return new Promise(() => {})
    })
    assert.deepInclude(await gate.request({}, here), { status: "started" })
    assert.deepInclude(await gate.request({}, here), { status: "queued" })
    await eventually("every listener was told", () => told === 6)
    await nextTurn()
    const failures = log.filter((line) => line.startsWith('A listener of the host for "outcome" failed'))
    assert.lengthOf(failures, 2)
    assert.match(failures.join(), /thrown by the host/)
    assert.match(failures.join(), /rejected by the host/)
  })

  it("refuses an unknown event", async () => {
    const gate = await gates.create()
    assert.throws(() => gate.on(JSON.parse('"calls"'), () => {}), 'event: expected one of outcome, call, found "calls"')
  })
})
