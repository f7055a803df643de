/** The spans that a host's tracer sees, and what they never hold. */
import { readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { assert, describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option, Tracer } from "effect"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { inSpan, tracing } from "../../src/lib/spans.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"
import { platformIsAway } from "../support/gate.ts"
import { call, post, type Served, servedTest, textField } from "../support/gate-server.ts"
import { recorder } from "../support/span-recorder.ts"

type Spans = ReadonlyArray<Tracer.NativeSpan>

const parentOf = ({ parent }: Tracer.NativeSpan): string =>
  Option.match(parent, { onNone: () => "", onSome: (found) => (found._tag === "Span" ? found.name : "external") })

/** The spans of the last trace that a span of this name began. Background tasks begin others at any time. */
const lastTrace = (spans: Spans, name: string): Spans => {
  const root = spans.findLast((span) => span.name === name)
  return spans.filter(({ traceId }) => traceId === root?.traceId)
}

/** Name and parent of each span of that trace, in the order in which they began. */
const traceOf = (spans: Spans, name: string): ReadonlyArray<readonly [name: string, parent: string]> =>
  lastTrace(spans, name).map((span) => [span.name, parentOf(span)])

/** The last span of this name. */
const spanOf = (spans: Spans, name: string): Tracer.NativeSpan => {
  const span = spans.findLast((each) => each.name === name)
  assert(span !== undefined, name)
  return span
}

const attributesOf = (spans: Spans, name: string) => Object.fromEntries(spanOf(spans, name).attributes)

/** The tag of the error with which a span ended; undefined when it ended regularly. */
const errorOf = (spans: Spans, name: string): string | undefined => {
  const { status } = spanOf(spans, name)
  assert(status._tag === "Ended", name)
  if (Exit.isSuccess(status.exit)) return undefined
  const error = Cause.squash(status.exit.cause)
  assert.instanceOf(error, Error)
  return error.name
}

const WEBHOOK = { "x-api-token": "a-token-of-webhooks" }
const CONSOLE = { authorization: "Bearer a-token-of-the-console" }

/** A served gate whose host has a tracer. */
const tracedTest = (
  name: string,
  body: (served: Served, spans: Array<Tracer.NativeSpan>) => Effect.Effect<void>,
  store: Layer.Layer<Store> = memory.layer,
): void => {
  const { spans, tracer } = recorder()
  servedTest(
    name,
    {
      Security: {
        WebhookApiToken: WEBHOOK["x-api-token"],
        ConsoleToken: "a-token-of-the-console",
        TrustedProxies: ["loopback"],
      },
    },
    (served) =>
      Effect.andThen(
        Effect.sync(() => spans.splice(0)),
        body(served, spans),
      ),
    {},
    { store: store.pipe(Layer.provideMerge(Layer.succeed(Tracer.Tracer, tracer))) },
  )
}

const REQUEST = "POST /api/session/request"

/** Requests a session from the n-th address. */
const requestFrom = ({ url }: Served, n: number) =>
  post(`${url}/api/session/request`, {}, { "x-forwarded-for": `203.0.113.${n}` })

describe("the spans of a session request", () => {
  const steps = [
    [REQUEST, ""],
    ["Gatekeeper.request", REQUEST],
    ["Gatekeeper.validate", "Gatekeeper.request"],
    ["Gatekeeper.checkAddress", "Gatekeeper.request"],
    ["IpIntel.lookup", "Gatekeeper.checkAddress"],
    ["Gatekeeper.admit", "Gatekeeper.request"],
    ["Store.run", "Gatekeeper.admit"],
  ]
  const starting = [
    ["Gatekeeper.startSession", "Gatekeeper.request"],
    ["PlatformApi.initiate", "Gatekeeper.startSession"],
    ["Store.run", "Gatekeeper.startSession"],
  ]

  tracedTest("are one for each check, in the order of the checks", (served, spans) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* requestFrom(served, 1)).status, 200)
      expect(traceOf(spans, REQUEST)).toEqual([...steps, ...starting])
      expect(attributesOf(lastTrace(spans, REQUEST), REQUEST)).toEqual({
        "http.request.method": "POST",
        "http.route": "/api/session/request",
        "http.response.status_code": 200,
        "voicegate.outcome": "started",
      })
      expect(attributesOf(lastTrace(spans, REQUEST), "Gatekeeper.admit")).toEqual({ "voicegate.campaign": "default" })

      assert.strictEqual((yield* requestFrom(served, 2)).status, 202)
      expect(traceOf(spans, REQUEST)).toEqual(steps)
      expect(attributesOf(lastTrace(spans, REQUEST), "Store.run")).toEqual({ "voicegate.rule": "takeAndAdmit" })
      expect(attributesOf(lastTrace(spans, REQUEST), "Gatekeeper.request")).toEqual({ "voicegate.outcome": "Queued" })
      assert.isUndefined(errorOf(lastTrace(spans, REQUEST), "Gatekeeper.request"), "a place in the queue is no error")
    }),
  )

  tracedTest("join the requests' lines in the log to their traces", (served, spans) =>
    Effect.gen(function* () {
      const ticket = textField(yield* requestFrom(served, 1), "uniqueRequestId")
      assert.strictEqual((yield* call(`${served.url}/api/session/${ticket}`)).status, 200)
      yield* Effect.promise(() => eventually("both are logged", () => served.log().split("\n").length > 2))
      const lines = served
        .log()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      const requests = [REQUEST, "GET /api/session/:id"].map((name) => spanOf(spans, name))
      assert.deepStrictEqual(
        lines.map(({ span_id, trace_id }) => [trace_id, span_id]),
        requests.map(({ spanId, traceId }) => [traceId, spanId]),
      )
    }),
  )

  tracedTest("name the refusal and its reason, and end where it was refused", (served, spans) =>
    Effect.gen(function* () {
      served.world.lookup = () => Effect.succeed({ ...noFacts, vpn: true })
      assert.strictEqual((yield* requestFrom(served, 1)).status, 403)
      expect(traceOf(spans, REQUEST)).toEqual(steps.slice(0, 5))
      expect(attributesOf(lastTrace(spans, REQUEST), "Gatekeeper.checkAddress")).toEqual({
        "voicegate.outcome": "Blocked",
        "voicegate.reason": "vpn",
      })
    }),
  )

  tracedTest("the spans of an offer with a wrong token record no error", (served, spans) =>
    Effect.gen(function* () {
      const ticket = textField(yield* requestFrom(served, 1), "uniqueRequestId")
      const headers = { "content-type": "application/sdp", authorization: "Bearer wrong" }
      const path = `${served.url}/api/session/${ticket}/relay`
      assert.strictEqual((yield* call(path, { method: "POST", headers, body: "v=0\r\n" })).status, 401)
      assert.isUndefined(errorOf(spans, "Gatekeeper.relay"))
    }),
  )

  tracedTest("record an error of the platform at its own call, while the caller waits", (served, spans) =>
    Effect.gen(function* () {
      served.world.initiate = () => Effect.fail(platformIsAway)
      assert.strictEqual((yield* requestFrom(served, 1)).status, 202)
      assert.strictEqual(errorOf(lastTrace(spans, REQUEST), "PlatformApi.initiate"), "PlatformError")
      assert.strictEqual(
        attributesOf(lastTrace(spans, REQUEST), "PlatformApi.initiate")["voicegate.reason"],
        "Unavailable",
      )
      for (const name of [REQUEST, "Gatekeeper.startSession", "Gatekeeper.checkAddress", "Store.run"])
        assert.isUndefined(errorOf(lastTrace(spans, REQUEST), name), name)
    }),
  )

  const away = Layer.effect(
    Store,
    Effect.map(Store, (store) =>
      Store.of({
        ...store,
        run: (rule, ask) =>
          rule.name === "takeAndAdmit"
            ? inSpan("the host's")(Effect.fail(new StoreUnavailable({ message: "away" })))
            : store.run(rule, ask),
      }),
    ),
  ).pipe(Layer.provide(memory.layer))

  tracedTest(
    "record an error of the store at each step that it ended",
    (served, spans) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* requestFrom(served, 1)).status, 503)
        for (const name of ["the host's", "Gatekeeper.admit", "Gatekeeper.request"])
          assert.strictEqual(errorOf(lastTrace(spans, REQUEST), name), "StoreUnavailable", name)
        assert.isUndefined(errorOf(lastTrace(spans, REQUEST), "Gatekeeper.checkAddress"))
        assert.strictEqual(attributesOf(lastTrace(spans, REQUEST), REQUEST)["http.response.status_code"], 503)
      }),
    away,
  )

  tracedTest("record a defect without its message", (served, spans) =>
    Effect.gen(function* () {
      served.world.lookup = () => Effect.die(new TypeError("the address is 203.0.113.1"))
      yield* requestFrom(served, 1)
      assert.isUndefined(errorOf(lastTrace(spans, REQUEST), REQUEST))
      assert.strictEqual(
        attributesOf(lastTrace(spans, REQUEST), "Gatekeeper.checkAddress")["voicegate.outcome"],
        undefined,
      )
      assert.notInclude(JSON.stringify(spans.map(shown)), "203.0.113.1")
    }),
  )
})

/** All that a tracer can see of a span. */
const shown = ({ attributes, name, status }: Tracer.NativeSpan) => ({
  name,
  attributes: [...attributes],
  exit:
    status._tag === "Ended"
      ? Exit.match(status.exit, {
          onSuccess: (value: unknown) => value,
          onFailure: (cause) => [Cause.pretty(cause), JSON.stringify(cause)],
        })
      : undefined,
})

describe("every span", () => {
  tracedTest("is without keys, tickets, addresses and session URLs, whatever is asked", (served, spans) =>
    Effect.gen(function* () {
      const { url } = served
      const started = yield* requestFrom(served, 1)
      const ticket = textField(yield* requestFrom(served, 2), "uniqueRequestId")
      const other = textField(yield* requestFrom(served, 3), "uniqueRequestId")
      yield* post(`${url}/api/session/request`, { uniqueRequestId: ticket }, { "x-forwarded-for": "203.0.113.2" })
      yield* call(`${url}/api/session/${ticket}`)
      yield* post(`${url}/api/session/${ticket}/start`)
      yield* call(`${url}/API//session/${ticket}`)
      yield* call(`${url}/api/session/${other}`, { method: "DELETE" })
      yield* call(`${url}/api/session/${"x".repeat(22)}/events`)
      yield* post(`${url}/api/webhook/session-ended`, { ConversationSessionId: "conversation-1" }, WEBHOOK)
      yield* post(`${url}/api/session/${ticket}/start`)
      yield* call(`${url}/api/session/${ticket}`)
      yield* call(`${url}/console/api/view`, { headers: CONSOLE })
      yield* post(`${url}/console/api/actions`, { action: { type: "pause" } }, CONSOLE)
      yield* post(`${url}/sessionHub/negotiate`)
      yield* call(`${url}/health/ready`)

      const text = JSON.stringify(spans.map(shown))
      for (const secret of [
        ticket,
        other,
        textField(started, "uniqueRequestId"),
        "wss://",
        "203.0.113",
        "127.0.0.1",
        "the-platform-key",
        ...Object.values(WEBHOOK),
        "a-token-of-the-console",
      ]) {
        assert.notInclude(text, secret)
      }
      for (const name of [
        "GET /api/session/:id",
        "POST /api/session/:id/start",
        "DELETE /api/session/:id",
        "GET /api/session/:id/events",
        "POST /api/webhook/session-ended",
        "POST /sessionHub/negotiate",
        "GET /health/ready",
        "Gatekeeper.start",
        "Gatekeeper.leave",
        "Gatekeeper.status",
        "Gatekeeper.attach",
        "Gatekeeper.sessionEnded",
        "Operator.view",
        "Operator.act",
        "Store.ping",
      ]) {
        spanOf(spans, name)
      }
    }),
  )

  it.live("is in the list for operators", () =>
    Effect.promise(async () => {
      const pages = readFileSync(new URL("../../src/docs/monitoring.md", import.meta.url), "utf8")
      const names = new Set<string>()
      for await (const file of glob("src/**/*.ts", { cwd: new URL("../..", import.meta.url) })) {
        const source = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
        for (const [, name = ""] of source.matchAll(/(?:inSpan|traced|inTicketTrace|inSessionTrace)\(\s*"([^"]+)"/g))
          names.add(name)
      }
      assert.isAbove(names.size, 15)
      for (const name of names) assert.include(pages, `\`${name}\``)
    }),
  )
})

describe("the trace of a ticket", () => {
  tracedTest("is that of its request, and a caller's traceparent is a link", (served, spans) =>
    Effect.gen(function* () {
      const { url } = served
      yield* requestFrom(served, 1)
      const ticket = textField(yield* requestFrom(served, 2), "uniqueRequestId")
      const { traceId } = spanOf(spans, "Gatekeeper.request")
      const sent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }
      const headers = { traceparent: `00-${sent.traceId}-${sent.spanId}-01` }
      yield* call(`${url}/api/session/${ticket}`, { headers })
      const status = spanOf(spans, "GET /api/session/:id")
      assert.strictEqual(status.traceId, traceId)
      assert.strictEqual(parentOf(status), "external")
      expect(status.links.map(({ span }) => ({ traceId: span.traceId, spanId: span.spanId }))).toEqual([sent])
      assert.strictEqual(parentOf(spanOf(spans, "Gatekeeper.status")), "GET /api/session/:id")
      // the request names a ticket, which is known only when it is read
      yield* post(`${url}/api/session/request`, { uniqueRequestId: ticket }, { "x-forwarded-for": "203.0.113.2" })
      assert.strictEqual(spanOf(spans, "Gatekeeper.rejoin").traceId, traceId)
      expect(spanOf(spans, "Gatekeeper.rejoin").links.map(({ span }) => span.spanId)).toEqual([
        spanOf(spans, "Gatekeeper.request").spanId,
      ])
      yield* call(`${url}/api/session/${ticket}`, { headers: { traceparent: "00-zz-1-01" } })
      expect(spanOf(spans, "GET /api/session/:id").links).toEqual([])
    }),
  )
})

describe("without a tracer", () => {
  it.effect("the functions of the hot path stay as they are", () =>
    Effect.gen(function* () {
      const traced = yield* tracing
      const step = () => Effect.void
      assert.strictEqual(traced("a step", step), step)
      const { tracer } = recorder()
      const own = yield* Effect.withTracer(tracing, tracer)
      assert.notStrictEqual(own("a step", step), step)
    }),
  )
})
