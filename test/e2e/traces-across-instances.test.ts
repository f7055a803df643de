/** One caller is one trace from the request to hang-up, whichever of two instances serves each step. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench, settingsFor } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { type SentSpan, startCollector, tracedTo } from "./support/collector.ts"
import { openSocket } from "./support/push.ts"

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`

type Collector = Awaited<ReturnType<typeof startCollector>>

const named = (spans: ReadonlyArray<SentSpan>, name: string) => spans.filter((span) => span.name === name)

describe("a caller of two instances with a collector of traces", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let platform: FakePlatform
  let collector: Collector
  let a: Gate
  let b: Gate

  beforeAll(async () => {
    collector = bench.own(await startCollector())
    platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const settings = settingsFor(platform, {
      ...tracedTo(collector.url),
      StoreConnectionString: redis.url,
      Security__TrustedProxies__0: "loopback",
    })
    // b trusts what its proxy says of traces
    const trusting = { ...settings, Server__TraceParent: "proxies" }
    ;[a, b] = await Promise.all([bench.gate(settings), bench.gate(trusting)])
  })

  it("is one trace from the request to hang-up, in which every parent is known", async () => {
    assert.strictEqual((await a.call("198.51.100.1")).status, 200)
    const waiting = await a.ask("POST", "/api/session/request", {
      body: {},
      headers: { "x-forwarded-for": "198.51.100.2", traceparent: TRACEPARENT },
    })
    assert.strictEqual(waiting.status, 202)
    const ticket = textOf(waiting, "uniqueRequestId")
    const socket = bench.own(await openSocket(b, ticket))
    await socket.sees("position")
    // the end of the first call at a calls the second caller, whose connection is at b
    assert.deepStrictEqual((await a.sessionEnded("conversation-1")).json, { released: true })
    await socket.sees("start_call")
    assert.strictEqual((await b.ask("POST", `/api/session/${ticket}/start`)).status, 200)
    assert.deepStrictEqual((await a.sessionEnded("conversation-2")).json, { released: true })

    await eventually("the end of the second call is sent", () => {
      const ends = named(collector.spans(), "Gatekeeper.sessionEnded")
      return ends.length === 2 && named(collector.spans(), "POST /api/webhook/session-ended").length === 2
    })
    await eventually("the start is sent", () => named(collector.spans(), "POST /api/session/:id/start").length === 1)
    const spans = collector.spans()
    const started = named(spans, "POST /api/session/:id/start")[0]
    const { traceId } = started ?? assert.fail("no start")
    const trace = spans.filter((span) => span.traceId === traceId)
    for (const name of [
      "POST /api/session/request",
      "Gatekeeper.admit",
      "GET /api/session/:id/events",
      "Gatekeeper.attach",
      "PushChannel.send",
      "POST /api/session/:id/start",
      "Gatekeeper.start",
      "PlatformApi.request",
      "Gatekeeper.sessionEnded",
    ]) {
      assert.isNotEmpty(named(trace, name), name)
    }
    const ids = new Set(trace.map(({ spanId }) => spanId))
    const roots = trace.filter(({ parentSpanId }) => parentSpanId === undefined)
    assert.deepStrictEqual(
      roots.map(({ name }) => name),
      ["POST /api/session/request"],
    )
    for (const { name, parentSpanId } of trace) {
      assert(parentSpanId === undefined || ids.has(parentSpanId), `${name} has a parent that nobody has sent`)
    }
    // nothing about this ticket is in another trace
    for (const name of ["GET /api/session/:id/events", "POST /api/session/:id/start", "Gatekeeper.start"]) {
      for (const span of named(spans, name)) assert.strictEqual(span.traceId, traceId, name)
    }
    // the caller's own trace is a link, and the platform was told of the gate's
    assert.notStrictEqual(traceId, TRACE)
    assert.deepStrictEqual(roots[0]?.links, [{ traceId: TRACE, spanId: "b7ad6b7169203331" }])
    assert.include(platform.starts[1]?.traceparent, `00-${traceId}-`)
    // the request of the webhook is the platform's
    const ended = named(trace, "Gatekeeper.sessionEnded")[0]
    const webhooks = named(spans, "POST /api/webhook/session-ended")
    assert(ended?.links?.every(({ spanId }) => webhooks.some((webhook) => webhook.spanId === spanId)))
    assert.lengthOf(ended?.links ?? [], 1)
  })

  it("continues the trace of a proxy that it trusts", async () => {
    const answer = await b.ask("POST", "/api/session/request", {
      body: {},
      headers: { "x-forwarded-for": "198.51.100.3", traceparent: TRACEPARENT },
    })
    assert.strictEqual(answer.status, 200)
    assert.strictEqual((await a.ask("GET", `/api/session/${textOf(answer, "uniqueRequestId")}`)).status, 200)
    // each instance sends its own spans, at its own times: the request's and the admission's are b's, the look at the ticket is a's
    const ofTrace = (name: string) => named(collector.spans(), name).filter(({ traceId }) => traceId === TRACE)
    const awaited = ["POST /api/session/request", "Gatekeeper.admit", "GET /api/session/:id"]
    await eventually("its spans are sent", () => awaited.every((name) => ofTrace(name).length > 0))
    const request = ofTrace("POST /api/session/request")[0]
    assert.strictEqual(request?.parentSpanId, "b7ad6b7169203331")
  })
})
