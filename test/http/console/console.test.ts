/** The console over HTTP: who may look, what they see and do, and what nobody learns from it. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { LOGGED, makeWrongTokens, WINDOW_MILLIS } from "../../../src/http/console/wrong-tokens.ts"
import { View } from "../../../src/operator/shapes.ts"
import { type GateUnderTest, type Options, startGate, TOKEN } from "./support.ts"

interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const Problem = Schema.Struct({ status: Schema.Int, code: Schema.String, message: Schema.String })
const problemOf = ({ text }: Answered) => Schema.decodeUnknownSync(Problem)(JSON.parse(text))
const viewOf = ({ text }: Answered) => Schema.decodeUnknownSync(View)(JSON.parse(text))
const Done = Schema.Struct({ result: Schema.String, ticket: Schema.String })
const Trail = Schema.Struct({
  total: Schema.Int,
  lines: Schema.Array(Schema.Struct({ who: Schema.String, action: Schema.String, result: Schema.String })),
})

const ask = (url: string, init: RequestInit = {}): Effect.Effect<Answered> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual", ...init })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const withToken = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } })

const operating = ({ url }: Pick<GateUnderTest, "url">, token = TOKEN) => {
  const get = (path: string) => ask(`${url}/console/api/${path}`, withToken(token))
  const post = (body: unknown) =>
    ask(`${url}/console/api/actions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    })
  return {
    get,
    post,
    view: (query = "") => Effect.map(get(`view${query}`), viewOf),
    trail: Effect.map(get("trail"), ({ text }) => Schema.decodeUnknownSync(Trail)(JSON.parse(text))),
    act: (action: unknown) =>
      Effect.map(post({ action }), ({ status, text }) => {
        assert.strictEqual(status, 200, text)
        return Schema.decodeUnknownSync(Done)(JSON.parse(text))
      }),
  }
}

const gateTest = (
  name: string,
  options: Options,
  body: (gate: GateUnderTest) => Effect.Effect<void, unknown, Scope.Scope>,
) => it.effect(name, () => Effect.flatMap(startGate(options), body))

const request = (gate: GateUnderTest) =>
  ask(`${gate.url}/api/session/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
const Ticket = Schema.Struct({ uniqueRequestId: Schema.String })
const ticketOf = ({ text }: Answered): string => Schema.decodeUnknownSync(Ticket)(JSON.parse(text)).uniqueRequestId
const stateOf = (gate: GateUnderTest, ticket: string) =>
  Effect.map(
    ask(`${gate.url}/api/session/${ticket}`),
    ({ text }) => Schema.decodeUnknownSync(Schema.Struct({ state: Schema.String }))(JSON.parse(text)).state,
  )

describe("without Security.ConsoleToken", () => {
  gateTest("there is no console", { token: undefined }, (gate) =>
    Effect.gen(function* () {
      for (const path of ["/console", "/console/", "/console/assets/a.js", "/console/api/view", "/console/api/trail"]) {
        const answer = yield* ask(gate.url + path, withToken(TOKEN))
        assert.strictEqual(answer.status, 404, path)
        assert.strictEqual(problemOf(answer).code, "not_found", path)
      }
      assert.strictEqual((yield* operating(gate).post({ action: { type: "pause" } })).status, 404)
    }),
  )
})

describe("the console's page", () => {
  const pageTest = (name: string, options: Options, body: (gate: GateUnderTest) => Effect.Effect<void, unknown>) =>
    it.effect(name, () =>
      Effect.gen(function* () {
        const pageRoot = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const root = await mkdtemp(join(tmpdir(), "voicegate-page-"))
            await mkdir(join(root, "console/assets"), { recursive: true })
            await writeFile(join(root, "console/index.html"), "<!doctype html><title>console</title>")
            await writeFile(join(root, "console/assets/a-1.js"), "1")
            await writeFile(join(root, "other.txt"), "of somebody else")
            return root
          }),
          (root) => Effect.promise(() => rm(root, { recursive: true, force: true })),
        )
        yield* body(yield* startGate({ ...options, pageRoot }))
      }),
    )

  pageTest("is served below its folder with a policy that allows its own files alone", {}, (gate) =>
    Effect.gen(function* () {
      const bare = yield* ask(`${gate.url}/console?x=1`)
      assert.deepStrictEqual([bare.status, bare.headers.get("location")], [308, "console/?x=1"])
      const page = yield* ask(`${gate.url}/console/`)
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "<title>console</title>")
      const policy = page.headers.get("content-security-policy") ?? ""
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "frame-ancestors 'none'")
      assert.notInclude(policy, "unsafe")
      assert.strictEqual(page.headers.get("cache-control"), "no-cache")
      assert.strictEqual(page.headers.get("x-content-type-options"), "nosniff")
      const asset = yield* ask(`${gate.url}/console/assets/a-1.js`)
      assert.include(asset.headers.get("cache-control") ?? "", "immutable")
    }),
  )

  pageTest("is all there is below it", {}, (gate) =>
    Effect.gen(function* () {
      for (const path of [
        "assets/none.js",
        "assets/%2e%2e/%2e%2e/other.txt",
        "assets/..%2f..%2fother.txt",
        "index.txt",
      ]) {
        const answer = yield* ask(`${gate.url}/console/${path}`)
        assert.strictEqual(answer.status, 404, path)
        assert.notInclude(answer.text, "somebody else", path)
      }
    }),
  )

  pageTest("is found below a host's mount path too", { basePath: "/voice" }, (gate) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask(`${gate.url}/console`)).headers.get("location"), "console/")
      assert.strictEqual((yield* ask(`${gate.url}/console/`)).status, 200)
      assert.strictEqual((yield* operating(gate).view()).campaign, "default")
    }),
  )
})

describe("the token", () => {
  gateTest("is needed for everything that shows or does something", {}, (gate) =>
    Effect.gen(function* () {
      for (const init of [{}, withToken(""), withToken("wrong-token-0123456789"), withToken(`${TOKEN}x`)]) {
        for (const path of ["view", "trail"]) {
          const answer = yield* ask(`${gate.url}/console/api/${path}`, init)
          assert.strictEqual(answer.status, 401)
          assert.strictEqual(problemOf(answer).code, "console_unauthorized")
          assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/)
          assert.notInclude(answer.text, TOKEN)
        }
      }
      const post = yield* operating(gate, "wrong-token-0123456789").post({ action: { type: "pause" } })
      assert.strictEqual(post.status, 401)
      assert.isFalse((yield* operating(gate).view()).queue?.paused)
      const basic = { headers: { authorization: `Basic ${TOKEN}` } }
      assert.strictEqual((yield* ask(`${gate.url}/console/api/view`, basic)).status, 401)
    }),
  )

  gateTest("opens the console at once after any number of wrong ones from the same address", {}, (gate) =>
    Effect.gen(function* () {
      const wrong = operating(gate, "wrong-token-0123456789")
      for (let n = 0; n < 5 * LOGGED; n++) {
        const answer = yield* wrong.get("view")
        assert.strictEqual(answer.status, 401)
        assert.strictEqual(problemOf(answer).code, "console_unauthorized")
      }
      assert.strictEqual((yield* operating(gate).get("view")).status, 200)
      assert.strictEqual((yield* wrong.get("view")).status, 401)
      assert.strictEqual((yield* operating(gate).get("view")).status, 200)
    }),
  )

  it("that is wrong leaves a bounded number of log lines for each address", () => {
    const wrongTokens = makeWrongTokens()
    const logged = (at: number) =>
      Array.from({ length: 100 }, () => wrongTokens.note("192.0.2.1", at)).filter((line) => line !== undefined)
    const first = logged(0)
    assert.lengthOf(first, LOGGED)
    assert.match(first[0] ?? "", /^A wrong token for the console came from 192\.0\.2\.1\.$/)
    assert.match(first.at(-1) ?? "", /Further ones from there are not logged for 15 minutes\.$/)
    assert.isDefined(wrongTokens.note("192.0.2.2", 0))
    assert.lengthOf(logged(WINDOW_MILLIS - 1), 0)
    assert.lengthOf(logged(WINDOW_MILLIS), LOGGED)
  })

  gateTest(
    "cannot be used from another origin's page",
    { security: { AllowedOrigins: ["https://shop.example"] } },
    (gate) =>
      Effect.gen(function* () {
        const preflight = yield* ask(`${gate.url}/console/api/view`, {
          method: "OPTIONS",
          headers: {
            origin: "https://shop.example",
            "access-control-request-method": "GET",
            "access-control-request-headers": "authorization",
          },
        })
        assert.notInclude((preflight.headers.get("access-control-allow-headers") ?? "").toLowerCase(), "authorization")
      }),
  )
})

describe("an operator", () => {
  gateTest("sees slots, line, health and instances, and no ticket, key or token", {}, (gate) =>
    Effect.gen(function* () {
      const tickets = [ticketOf(yield* request(gate)), ticketOf(yield* request(gate))]
      yield* operating(gate).view()
      const answer = yield* operating(gate).get("view")
      for (const secret of [...tickets, TOKEN, "key-of-the-platform"]) assert.notInclude(answer.text, secret)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const view = viewOf(answer)
      assert.deepInclude(view, { campaigns: ["default"], campaign: "default", slots: 1 })
      assert.deepInclude(view.queue, { waiting: 1, held: 1, live: 1, paused: false })
      assert.deepStrictEqual(
        view.queue?.slotPage.map(({ state }) => state),
        ["live"],
      )
      assert.lengthOf(view.queue?.linePage ?? [], 1)
      assert.deepStrictEqual(
        view.health.map(({ name, state }) => [name, state]),
        [
          ["Store", "ok"],
          ["Platform", "ok"],
          ["IP provider", "ok"],
          ["Instances", "ok"],
        ],
      )
      assert.deepStrictEqual(
        view.instances.map(({ id }) => id),
        [view.instance],
      )
    }),
  )

  gateTest("sees what all callers were answered since, in buckets of ten seconds", {}, (gate) =>
    Effect.gen(function* () {
      yield* request(gate)
      yield* request(gate)
      yield* request(gate)
      yield* operating(gate).act({ type: "drain" })
      yield* request(gate)
      yield* TestClock.adjust(2_000)
      const view = yield* operating(gate).view()
      const sum = (name: string): number =>
        view.buckets.reduce((all, { counts }) => all + (counts[view.counts.indexOf(name)] ?? 0), 0)
      assert.deepStrictEqual([sum("started"), sum("queued"), sum("draining"), sum("vpn")], [1, 2, 1, 0])
      const later = yield* operating(gate).view(`?since=${view.now + 10_000}`)
      assert.deepStrictEqual(later.buckets.length, view.buckets.filter(({ at }) => at + 10_000 > view.now).length)
    }),
  )

  gateTest("gets pages of a long line", {}, (gate) =>
    Effect.gen(function* () {
      yield* Effect.forEach(
        Array.from({ length: 131 }),
        () => gate.gatekeeper.request({}, { address: "192.0.2.1" }).pipe(Effect.ignore),
        {
          discard: true,
        },
      )
      const { queue } = yield* operating(gate).view("?firstPlace=120&places=1000&slots=0")
      assert.strictEqual(queue?.waiting, 130)
      assert.deepStrictEqual(
        queue?.linePage.map(({ seq }) => seq),
        Array.from({ length: 10 }, (_, i) => 122 + i),
      )
      assert.deepStrictEqual(queue?.slotPage, [])
      assert.strictEqual((yield* operating(gate).get("view?firstPlace=-1")).status, 400)
      assert.strictEqual((yield* operating(gate).get("view?campaign=nobody")).status, 404)
    }),
  )

  gateTest("pauses: newcomers queue although a slot is free, until it is resumed", {}, (gate) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* operating(gate).act({ type: "pause" }), { result: "done", ticket: "-" })
      const newcomer = yield* request(gate)
      assert.strictEqual(newcomer.status, 202)
      assert.strictEqual(yield* stateOf(gate, ticketOf(newcomer)), "waiting")
      yield* operating(gate).act({ type: "resume" })
      assert.strictEqual(yield* stateOf(gate, ticketOf(newcomer)), "called")
    }),
  )

  gateTest(
    "drains: newcomers are told when to come back, and their quota is theirs",
    { security: { RateLimitHourly: 1 } },
    (gate) =>
      Effect.gen(function* () {
        yield* operating(gate).act({ type: "drain" })
        for (let n = 0; n < 3; n++) {
          const refused = yield* request(gate)
          assert.deepStrictEqual([refused.status, problemOf(refused).code], [503, "draining"])
          assert.isAbove(Number(refused.headers.get("retry-after")), 0)
        }
        yield* operating(gate).act({ type: "reopen" })
        assert.strictEqual((yield* request(gate)).status, 200)
      }),
  )

  gateTest("calls the next one now, removes one from the line, ends a lease, and leaves a line of each", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      yield* operator.act({ type: "pause" })
      const [first, second, third] = [
        ticketOf(yield* request(gate)),
        ticketOf(yield* request(gate)),
        ticketOf(yield* request(gate)),
      ]
      assert.strictEqual((yield* operator.act({ type: "call" })).result, "called")
      assert.strictEqual(yield* stateOf(gate, first), "called")
      assert.strictEqual((yield* operator.act({ type: "call" })).result, "no_slot")
      yield* operator.act({ type: "resume" })
      const [waiting] = (yield* operator.view()).queue?.linePage ?? []
      assert.strictEqual((yield* operator.act({ type: "remove", seq: waiting?.seq })).result, "removed")
      assert.strictEqual(yield* stateOf(gate, second), "removed")
      const [held] = (yield* operator.view()).queue?.slotPage ?? []
      const end = { type: "end", lease: held?.lease, deadline: held?.deadline }
      assert.strictEqual((yield* operator.act(end)).result, "ended")
      assert.strictEqual((yield* operator.act(end)).result, "gone")
      assert.deepStrictEqual([yield* stateOf(gate, first), yield* stateOf(gate, third)], ["removed", "called"])
      assert.deepStrictEqual(yield* operator.trail, {
        total: 7,
        lines: [
          ["end", "gone"],
          ["end", "ended_called"],
          ["remove", "removed"],
          ["resume", "done"],
          ["call", "no_slot"],
          ["call", "called"],
          ["pause", "done"],
        ].map(([action = "", result = ""]) => ({ who: "127.0.0.1", action, result })),
      })
    }),
  )

  gateTest("who asks for what is no action is told so, and nothing is done", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      for (const action of [
        { type: "explode" },
        { type: "remove" },
        { type: "remove", seq: "1" },
        { type: "remove", seq: -1 },
        { type: "end", lease: "1", deadline: "(0" },
        { type: "end", lease: "x", deadline: 1 },
        "pause",
        null,
      ]) {
        const answer = yield* operator.post({ action })
        assert.deepStrictEqual(
          [answer.status, problemOf(answer).code],
          [400, "invalid_request"],
          JSON.stringify(action),
        )
      }
      assert.strictEqual((yield* operator.post({ campaign: "nobody", action: { type: "pause" } })).status, 404)
      assert.strictEqual((yield* operator.trail).total, 0)
    }),
  )

  gateTest("still sees what is known while the store is away, and acts when it is back", {}, (gate) =>
    Effect.gen(function* () {
      gate.setAway(true)
      const view = yield* operating(gate).view()
      assert.isNull(view.queue)
      assert.deepInclude(view.health[0], { name: "Store", state: "failed" })
      const refused = yield* operating(gate).post({ action: { type: "pause" } })
      assert.deepStrictEqual([refused.status, problemOf(refused).code], [503, "store_unavailable"])
      gate.setAway(false)
      assert.strictEqual((yield* operating(gate).act({ type: "pause" })).result, "done")
    }),
  )
})
