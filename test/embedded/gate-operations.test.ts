/** What a host does with its gate: requests, tickets, and closing it. */
import { assert, describe, it } from "vitest"
import { createGate, type Gate, type SessionBody } from "../../src/index.ts"
import { rejection, serve, settingsFor, useGates } from "./support.ts"

const here = { address: "127.0.0.1" }

const gates = useGates()

/** The two outcomes that most tests start from. */
const started = async (on: Gate, body: SessionBody = {}, address = "127.0.0.1") => {
  const result = await on.request(body, { address })
  if (result.status !== "started") throw new Error(`not started: ${JSON.stringify(result)}`)
  return result
}
const queued = async (on: Gate, body: SessionBody = {}, address = "127.0.0.1") => {
  const result = await on.request(body, { address })
  if (result.status !== "queued") throw new Error(`not queued: ${JSON.stringify(result)}`)
  return result
}

describe("requests", () => {
  it("starts a session, or gives a place in the queue", async () => {
    const on = await gates.create({}, { basePath: "voice/" })
    const first = await started(on)
    assert.deepInclude(first, { sessionId: "session-1", webSocketUrl: "wss://agent.example/session-1" })
    const second = await queued(on)
    assert.deepEqual(second, {
      status: "queued",
      uniqueRequestId: second.uniqueRequestId,
      queuePosition: 1,
      queueLength: 1,
      estimatedWaitSeconds: null,
      disrupted: false,
      paused: false,
      pausedUntil: null,
      resumesAt: null,
      called: false,
      eventsUrl: `/voice/api/session/${second.uniqueRequestId}/events`,
    })
    // a join is idempotent
    assert.deepEqual(await queued(on, { uniqueRequestId: second.uniqueRequestId }), second)
  })

  it("initiates a web session with the given campaign, region and variables", async () => {
    const on = await gates.create()
    const result = await on.initiateWebSession(
      { WebCampaignId: "campaign", RegionId: "us", DynamicVariables: { name: "Ada" } },
      here,
    )
    assert.deepInclude(result, { status: "started", webSocketUrl: "wss://agent.example/session-1" })
    assert.deepInclude(gates.platform.starts[0], {
      webCampaignId: "campaign",
      regionId: "us",
      dynamicVariables: { name: "Ada" },
    })
    assert.equal((await on.initiateWebSession({}, here)).status, "queued")
  })

  it("refuses an invalid request, and names the fields", async () => {
    const on = await gates.create()
    assert.deepEqual(await on.initiateWebSession({ RegionId: "moon" }, here), {
      status: "refused",
      code: "region_not_allowed",
      message: "RegionId: Expected one of eu, us",
      issues: [{ field: "RegionId", message: "Expected one of eu, us" }],
    })
    for (const [config, field] of [
      ['{ "WebCampaignId": "nobody" }', "WebCampaignId"],
      ['{ "WebCampaignId": 7 }', "WebCampaignId"],
      ['{ "DynamicVariables": { "age": 7 } }', "DynamicVariables.age"],
      ["null", ""],
      ["[]", ""],
    ] as const) {
      const refused = await on.initiateWebSession(JSON.parse(config), here)
      assert.deepEqual(refused.status === "refused" && refused.issues?.map((issue) => issue.field), [field], config)
    }
    assert.deepInclude(await on.request({ campaignId: "nobody" }, here), { code: "unknown_campaign" })
    assert.deepInclude(await on.request(JSON.parse('"text"'), here), { status: "refused", code: "invalid_request" })
    assert.deepInclude(await on.request(JSON.parse("null"), here), { status: "refused", code: "invalid_request" })
    assert.equal(gates.platform.starts.length, 0)
  })

  it("answers a call from JavaScript that lacks its arguments, without an error of its own", async () => {
    const on = await gates.create()
    const missing = JSON.parse("null")
    assert.deepInclude(await on.initiateWebSession({ RegionId: "eu" }, missing), { code: "no_client_address" })
    assert.deepInclude(await on.request({}, missing), { code: "no_client_address" })
    assert.deepInclude(await on.start(missing), { code: "ticket_unknown" })
    assert.deepInclude(await on.status(missing), { code: "ticket_unknown" })
    assert.deepEqual(await on.leave(missing), { status: "left" })
    assert.deepEqual(await on.sessionEnded(missing), { status: "accepted", released: false })
    assert.equal(gates.platform.starts.length, 0)
  })

  it("closes at the end of the block that uses it", async () => {
    let on: Gate | undefined
    {
      await using gate = await gates.create()
      on = gate
      assert.deepEqual(await on.ready(), { status: "ready" })
    }
    assert.equal((await on.ready()).status, "refused")
  })

  it("gives its metrics to the registry of the host", async () => {
    const on = await gates.create()
    await started(on)
    assert.match(await on.metrics(), /^voicegate_requests_total\{outcome="started"\} \d+$/m)
  })

  it("treats an undefined field as absent", async () => {
    const on = await gates.create()
    await started(on, { regionId: undefined, audioConfiguration: { inputSampleRate: undefined } })
  })

  it("refuses a caller without an address", async () => {
    const on = await gates.create()
    for (const address of [undefined, "", "localhost"]) {
      assert.deepEqual(await on.request({}, { address }), {
        status: "refused",
        code: "no_client_address",
        message: "address: Expected an IPv4 or IPv6 address.",
      })
    }
  })

  it("counts an address once, however it is written, and reports when to try again", async () => {
    const on = await gates.create({ RateLimitHourly: 2 })
    await started(on, {}, "::ffff:192.0.2.1")
    await queued(on, {}, "192.0.2.1")
    const third = await on.request({}, { address: "192.0.2.1" })
    assert.deepInclude(third, { status: "refused", code: "rate_limited", limit: "hour" })
    assert.isTrue(
      third.status === "refused" && third.retryAfterSeconds !== undefined && third.retryAfterSeconds > 3_500,
    )
    await queued(on, {}, "192.0.2.2")
  })

  it("queues callers when the platform is unavailable or refuses the key", async () => {
    const refusal = async () => ({ status: 401, body: { success: false, message: "wrong key" } })
    for (const next of [refusal, async () => ({ status: 503, body: {} })]) {
      gates.platform.next = next
      const on = await gates.create()
      assert.deepInclude(await on.request({}, here), { status: "queued", queuePosition: 1 })
    }
    gates.platform.next = undefined
  })

  it("reports an unavailable store", async () => {
    const nobody = await serve(() => {})
    await nobody.close()
    const on = await createGate(
      { ...settingsFor(gates.platform), StoreConnectionString: nobody.origin.replace("http:", "redis:") },
      { log: () => {} },
    )
    gates.own(on)
    const refusal = {
      status: "refused",
      code: "store_unavailable",
      message: "The service is unavailable right now. Try again.",
      retryAfterSeconds: 5,
    }
    assert.deepEqual<unknown>(await on.request({}, here), refusal)
    assert.deepEqual<unknown>(await on.sessionEnded("session-1"), refusal)
  })
})

describe("tickets", () => {
  it("are called in order when a session ends, and start", async () => {
    const on = await gates.create()
    const { sessionId } = await started(on)
    const { uniqueRequestId: ticket } = await queued(on)
    assert.deepInclude(await on.start(ticket), { status: "refused", code: "not_your_turn", queuePosition: 1 })

    assert.deepEqual(await on.sessionEnded(sessionId), { status: "accepted", released: true })
    assert.deepEqual(await on.sessionEnded([sessionId]), { status: "accepted", released: false })
    const called = await on.status(ticket)
    assert.isTrue(called.status === "found" && called.ticket.state === "called")
    assert.deepEqual(await on.start(ticket), {
      status: "started",
      uniqueRequestId: ticket,
      sessionId: "session-2",
      webSocketUrl: "wss://agent.example/session-2",
    })
    assert.deepInclude(await on.start(ticket), { status: "started", sessionId: "session-2" })
    await on.sessionEnded("session-2")
    assert.deepInclude(await on.start(ticket), { status: "refused", code: "ticket_over", state: "ended" })
  })

  it("can be given up, more than once", async () => {
    const on = await gates.create()
    await started(on)
    const { uniqueRequestId: ticket } = await queued(on)
    assert.deepEqual(await on.leave(ticket), { status: "left" })
    assert.deepEqual(await on.leave(ticket), { status: "left" })
    assert.deepEqual(await on.status(ticket), {
      status: "found",
      ticket: { uniqueRequestId: ticket, state: "left" },
    })
  })

  it("tickets that are unknown are refused", async () => {
    const on = await gates.create()
    assert.deepInclude(await on.status("nobody"), { status: "refused", code: "ticket_unknown" })
    assert.deepInclude(await on.start("nobody"), { status: "refused", code: "ticket_unknown" })
  })
})

describe("closing", () => {
  it("waits for requests in flight, then refuses everything", async () => {
    const on = await gates.create()
    let answer = (): void => {}
    const asked = new Promise<void>((resolve) => {
      gates.platform.next = async (id) => {
        resolve()
        await new Promise<void>((go) => {
          answer = go
        })
        return {
          status: 200,
          body: { success: true, data: { sessionId: id, sessionWebSocketURL: "wss://agent.example/late" } },
        }
      }
    })
    const inFlight = on.request({}, here)
    await asked
    const closed = on.close()
    assert.strictEqual(on.close(), closed)
    assert.equal((await rejection(on.status("ticket"))).message, "The gate is closed.")
    answer()
    assert.deepInclude(await inFlight, { status: "started", webSocketUrl: "wss://agent.example/late" })
    await closed
    assert.equal((await rejection(on.request({}, here))).message, "The gate is closed.")
  })
})
