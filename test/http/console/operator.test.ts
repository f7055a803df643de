/** What an operator sees and does over HTTP. */

import { createHash } from "node:crypto"
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { AuditLog, Campaigns, Found } from "../../../src/operator/shapes.ts"
import { VIEW_VERSION } from "../../../src/operator/view-version.ts"
import { endedEvent } from "../../../src/protocol/events.ts"
import { ask, gateTest, operating, problemOf, request, stateOf, ticketOf, viewOf } from "./asking.ts"
import { TOKEN } from "./support.ts"

const DAY = 86_400_000
const minutes = { Of: "campaign", Unit: "minutes", Cap: 60 } as const
const BUDGETS = [
  { ...minutes, Name: "day", Per: "day" },
  { ...minutes, Name: "hour", Per: "hour", OnLimit: "refuse" },
  { ...minutes, Name: "counted", Per: "month", OnLimit: "count" },
  { ...minutes, Name: "caller", Of: "caller", Per: "month" },
]

describe("an operator", () => {
  gateTest("sees slots, line, health and instances, and no ticket, key or token", {}, (gate) =>
    Effect.gen(function* () {
      const tickets = [ticketOf(yield* request(gate)), ticketOf(yield* request(gate))]
      yield* operating(gate).view()
      const answer = yield* operating(gate).get("view")
      for (const secret of [...tickets, TOKEN, "key-of-the-platform"]) assert.notInclude(answer.text, secret)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      const view = viewOf(answer)
      assert.deepInclude(view, { version: VIEW_VERSION, campaigns: ["default"], campaign: "default", slots: 1 })
      assert.deepInclude(view.queue, { waiting: 1, held: 1, live: 1, paused: false })
      assert.deepStrictEqual(
        view.queue?.slotPage.map(({ state }) => state),
        ["live"],
      )
      assert.lengthOf(view.queue?.waitingPage ?? [], 1)
      assert.deepStrictEqual(
        view.health.map(({ name, state }) => [name, state]),
        [
          ["Store", "ok"],
          ["Platform", "ok"],
          ["IP provider", "off"],
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
      const sum = (name: string): number => view.buckets.reduce((all, { counts }) => all + (counts[name] ?? 0), 0)
      assert.deepStrictEqual([sum("started"), sum("queued"), sum("refused.draining"), sum("refused.vpn")], [1, 2, 1, 0])
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
        queue?.waitingPage.map(({ seq }) => seq),
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

  gateTest("pauses until a time, which callers who wait are told", {}, (gate) =>
    Effect.gen(function* () {
      const until = Date.UTC(9000, 0, 1)
      assert.strictEqual((yield* operating(gate).act({ type: "pause", until })).result, "done")
      const newcomer = yield* request(gate)
      const told = { paused: true, pausedUntil: "9000-01-01T00:00:00.000Z" }
      assert.deepInclude(JSON.parse(newcomer.text), told)
      const status = yield* ask(`${gate.url}/api/session/${ticketOf(newcomer)}`)
      assert.deepInclude(JSON.parse(status.text), told)
      assert.deepInclude((yield* operating(gate).view()).queue, { paused: true, pausedUntil: until })
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

  gateTest("finds a ticket by the start of its hash, in a slot or anywhere in the queue, and shows no id", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      const hash = (ticket: string): string => createHash("sha1").update(ticket).digest("hex").slice(0, 10)
      const tickets: Array<string> = []
      for (let i = 0; i < 240; i++) tickets.push(ticketOf(yield* request(gate)))
      const find = (text: string) =>
        Effect.map(operator.get(`find?hash=${text}`), (answered) => {
          for (const ticket of tickets) assert.notInclude(answered.text, ticket)
          return Schema.decodeUnknownSync(Found)(JSON.parse(answered.text))
        })
      const slots = (yield* operator.view()).queue?.held ?? 0
      assert.isAbove(slots, 0)
      const [first = "", last = ""] = [tickets[0], tickets.at(-1)]
      const inSlot = yield* find(hash(first))
      assert.deepInclude(inSlot.found[0], { campaign: "default", ticket: hash(first), state: "live", row: 0 })
      const waiting = yield* find(hash(last).slice(0, 8).toUpperCase())
      assert.deepInclude(waiting.found[0], { ticket: hash(last), state: "waiting", row: 240 - slots - 1 })
      assert.deepStrictEqual(yield* find("0123456789"), { found: [], more: false })
      const further = yield* operator.get("find?hash=0123456789&from=80%20default")
      assert.deepStrictEqual([further.status, further.text], [200, '{"found":[],"more":false}'])
      assert.strictEqual((yield* operator.get("find?hash=0123456789&from=nowhere")).status, 400)
      for (const wrong of ["abc", "xyz1", "", "01234567890"]) {
        assert.strictEqual((yield* operator.get(`find?hash=${wrong}`)).status, 400)
      }
      assert.strictEqual((yield* operating(gate, "wrong").get("find?hash=abcd")).status, 401)
    }),
  )

  gateTest("sees the campaigns side by side", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      yield* request(gate)
      const { text } = yield* operator.get("campaigns")
      const { campaigns } = Schema.decodeUnknownSync(Campaigns)(JSON.parse(text))
      const { slots } = yield* operator.view()
      assert.deepInclude(campaigns[0], { name: "default", slots })
      assert.deepInclude(campaigns[0]?.figures, { held: 1, live: 1, waiting: 0, paused: false })
      gate.setAway(true)
      const away = yield* operator.get("campaigns")
      const unknown = Schema.decodeUnknownSync(Campaigns)(JSON.parse(away.text))
      assert.deepStrictEqual(unknown.campaigns, [{ name: "default", slots, figures: null, refused: null }])
      assert.strictEqual((yield* operator.get("find?hash=abcd")).status, 503)
      assert.strictEqual((yield* operating(gate, "wrong").get("campaigns")).status, 401)
    }),
  )

  gateTest(
    "sees the budget because of which callers are refused, in the view and beside the other campaigns",
    { budgets: BUDGETS },
    (gate) =>
      Effect.gen(function* () {
        const operator = operating(gate)
        const usedUp = Effect.gen(function* () {
          const { text } = yield* operator.get("campaigns")
          const [row] = Schema.decodeUnknownSync(Campaigns)(JSON.parse(text)).campaigns
          const view = yield* operator.view()
          assert.deepStrictEqual(row?.usedUp, view.usedUp)
          return row?.usedUp
        })
        const add = (budget: string, by: number) =>
          gate.operator.adjustBudget(undefined, "me", { budget, by, id: `change-${budget}-${by}`, reason: "a test" })
        assert.strictEqual(yield* usedUp, undefined)
        yield* add("counted", -60)
        yield* add("caller", -60)
        assert.strictEqual(yield* usedUp, undefined)
        yield* add("hour", -60)
        assert.deepInclude(yield* usedUp, { budget: "hour", endsCalls: false })
        yield* add("day", -60)
        // that of the hour begins anew before
        const now = (yield* operator.view()).now
        assert.deepStrictEqual(yield* usedUp, {
          budget: "day",
          until: (Math.floor(now / DAY) + 1) * DAY,
          endsCalls: true,
        })
        yield* add("day", 60)
        assert.deepInclude(yield* usedUp, { budget: "hour" })
      }),
  )

  gateTest("ends a call, and its caller reads that the operator did", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      const live = ticketOf(yield* request(gate))
      yield* operator.act({ type: "resume" })
      const [held] = (yield* operator.view()).queue?.slotPage ?? []
      assert.strictEqual(held?.state, "live")
      yield* operator.act({ type: "end", lease: held?.lease, deadline: held?.deadline })
      assert.strictEqual(yield* stateOf(gate, live), "stopped")
      assert.deepStrictEqual(endedEvent("stopped"), {
        type: "ended",
        reason: "stopped",
        message: "The operator ended the call.",
      })
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
      const [waiting] = (yield* operator.view()).queue?.waitingPage ?? []
      assert.strictEqual((yield* operator.act({ type: "remove", seq: waiting?.seq })).result, "removed")
      assert.strictEqual(yield* stateOf(gate, second), "removed")
      const [held] = (yield* operator.view()).queue?.slotPage ?? []
      const end = { type: "end", lease: held?.lease, deadline: held?.deadline }
      assert.strictEqual((yield* operator.act(end)).result, "ended")
      assert.strictEqual((yield* operator.act(end)).result, "gone")
      assert.deepStrictEqual([yield* stateOf(gate, first), yield* stateOf(gate, third)], ["removed", "called"])
      assert.deepStrictEqual(yield* operator.auditLog, {
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

  gateTest("an operator who asks for what is no action is told so, and nothing is done", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      for (const action of [
        { type: "explode" },
        { type: "remove" },
        { type: "remove", seq: "1" },
        { type: "remove", seq: -1 },
        { type: "end", lease: "1", deadline: "(0" },
        { type: "pause", until: "14:00" },
        { type: "pause", until: 1e15 },
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
      assert.strictEqual((yield* operator.auditLog).total, 0)
    }),
  )

  gateTest("sees which settings changed from what to what, and nothing else when that is asked for", {}, (gate) =>
    Effect.gen(function* () {
      const operator = operating(gate)
      yield* operator.act({ type: "pause" })
      const changes = [{ setting: "Queue.MaxLength", before: "10", after: "20" }]
      yield* gate.operator.noteSettings("SIGHUP", changes)
      const log = (query: string) =>
        Effect.map(operator.get(`audit-log${query}`), ({ text }) =>
          Schema.decodeUnknownSync(AuditLog)(JSON.parse(text)),
        )
      const { lines } = yield* log("?only=settings")
      assert.deepStrictEqual(
        lines.map(({ action, changes: shown, who }) => ({ action, who, shown })),
        [{ action: "settings", who: "SIGHUP", shown: { settings: changes, more: 0 } }],
      )
      assert.deepInclude((yield* log("?only=actions")).lines[0], { action: "pause" })
      assert.strictEqual((yield* log("")).total, 2)
      assert.strictEqual((yield* operator.get("audit-log?only=everything")).status, 400)
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
