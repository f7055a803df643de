/** What the commands of an operator print of a gate's answers. */
import { once } from "node:events"
import { createServer } from "node:http"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ActionOutcome } from "../../../src/fifo-queue/operator/actions.ts"
import { type ConsoleClient, connect } from "../../../src/operator/commands/console-client.ts"
import { withTicketLast } from "../../../src/operator/commands/operate.ts"
import { actOn, endCalls, listCampaigns, showCampaign, showTicket } from "../../../src/operator/commands/run.ts"
import { storeHealth } from "../../../src/operator/layer.ts"
import type { Health } from "../../../src/operator/shapes.ts"
import { EMPTY_VIEW } from "../../support/queue-view.ts"

const NO_VIEW = {
  ...{ version: 1 as const, now: 0, campaigns: ["default"], campaign: "default", slots: 1, instance: "i" },
  ...{ health: [], queue: null, instances: [], buckets: [] },
}

const source = {
  file: undefined,
  envFile: undefined,
  env: { Security__ConsoleToken: "console-token-0123456789" },
  cwd: "/",
}

describe("a command of an operator", () => {
  it.live("prints each problem of refused settings on a line of its own, and no control character", () =>
    Effect.gen(function* () {
      const message = "The settings have 2 problems:\n  A: expected one\n  B: expected \u001b[2Jtwo"
      const server = createServer((_, response) => response.writeHead(400).end(JSON.stringify({ message })))
      server.listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(server, "listening"))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const client = yield* connect(source, `http://127.0.0.1:${port}/`)
      const failed = yield* Effect.flip(client.reload)
      assert.deepStrictEqual(failed.message.split("\n").slice(1), ["  A: expected one", "  B: expected ?[2Jtwo"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
  )

  it.live("says that a gate which is asked over https serves http", () =>
    Effect.gen(function* () {
      const server = createServer((_, response) => response.end())
      server.listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(server, "listening"))
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const client = yield* connect(source, `https://127.0.0.1:${port}/`)
      const failed = yield* Effect.flip(client.campaigns)
      assert.match(
        failed.message,
        /cannot be reached \(ERR_SSL_\w+\)\. It does not answer in TLS: a gate itself serves http/,
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
  )

  it.effect("says of a platform that reports no ends of calls what to check there", () =>
    Effect.gen(function* () {
      const queue = {
        ...EMPTY_VIEW,
        platform: { state: "webhooks_missing" as const, since: 1_800_000_000_000, startAt: 0, code: "", setting: "" },
      }
      const { lines } = yield* showCampaign({ view: () => Effect.succeed({ ...NO_VIEW, queue }) }, "default")
      assert.include(
        lines.map((line) => line.replace(/ +/g, " ")),
        "platform platform reports no ends of calls since 2027-01-15T08:00:00.000Z: check the webhook's address and secret at the platform",
      )
    }),
  )

  it.effect("says that a budget is used up, and until when", () =>
    Effect.gen(function* () {
      const usedUp = { budget: "day", until: 1_800_000_000_000, endsCalls: true }
      const figures = { ...EMPTY_VIEW, paused: true }
      const row = { name: "default", slots: 1, usedUp, refused: {} }
      const campaigns = [
        { ...row, figures },
        { ...row, figures: EMPTY_VIEW },
      ]
      const state = "budget day used up until 2027-01-15T08:00:00.000Z"
      const client = { campaigns: Effect.succeed({ now: 0, campaigns, refusedElsewhere: {} }) }
      const { lines } = yield* listCampaigns(client)
      assert.match(lines[1] ?? "", new RegExp(`paused, ${state}`))
      assert.match(lines[2] ?? "", new RegExp(`default +${state}`))
      const shown = yield* showCampaign(
        { view: () => Effect.succeed({ ...NO_VIEW, queue: EMPTY_VIEW, usedUp }) },
        "default",
      )
      assert.include(
        shown.lines.map((line) => line.replace(/ +/g, " ")),
        `state ${state}`,
      )
      assert.deepInclude(shown.document, { usedUp })
    }),
  )

  it.effect("says whether a caller was called, and which", () =>
    Effect.gen(function* () {
      const next = (outcome: ActionOutcome) =>
        Effect.map(actOn({ act: () => Effect.succeed(outcome) }, "default", "call"), ({ lines, ok }) => [ok, ...lines])
      assert.deepStrictEqual(yield* next({ result: "called", ticket: "0123456789" }), [
        true,
        "0123456789: The first caller in line who is present was called.",
      ])
      assert.deepStrictEqual(yield* next({ result: "nobody", ticket: "-" }), [
        false,
        "No one was called: nobody who may be called now is present.",
      ])
      assert.deepStrictEqual(yield* next({ result: "no_slot", ticket: "-" }), [
        false,
        "No one was called: no slot is free.",
      ])
    }),
  )

  it.effect("says how many calls are being ended, or run on", () =>
    Effect.gen(function* () {
      const view = () => Effect.succeed({ ...NO_VIEW, queue: { ...EMPTY_VIEW, live: 1 } })
      const ended = (result: "ending_calls" | "cannot_end", ticket: string) =>
        Effect.map(
          endCalls({ act: () => Effect.succeed({ result, ticket }), view }, "default", true),
          ({ lines, ok }) => [ok, ...lines],
        )
      assert.deepStrictEqual(yield* ended("ending_calls", "2"), [
        true,
        "2 calls are being ended. Their slots are free within a minute.",
      ])
      assert.deepStrictEqual(yield* ended("ending_calls", "1"), [
        true,
        "1 call is being ended. Its slot is free within a minute.",
      ])
      assert.deepStrictEqual(yield* ended("cannot_end", "3"), [
        false,
        "The platform can’t be asked to end calls. 3 calls run on.",
      ])
      const act = () => Effect.die("nothing is ended without --yes")
      const failed = yield* Effect.flip(endCalls({ act, view }, "default", false))
      assert.strictEqual(failed.message, "1 call runs. Add --yes to end all of them.")
    }),
  )

  it.effect("says which budget a campaign and a ticket wait for, and until when", () =>
    Effect.gen(function* () {
      const figures = { ...EMPTY_VIEW, resumesAt: 1_800_000_000_000 }
      const campaigns = [
        { name: "default", slots: 1, refused: {}, figures: { ...figures, budgets: ["month"] } },
        // a gate of an older version
        { name: "sales", slots: 1, refused: {}, figures },
      ]
      const client = { campaigns: Effect.succeed({ now: 0, campaigns, refusedElsewhere: {} }) }
      const { lines } = yield* listCampaigns(client)
      assert.match(lines[1] ?? "", /default +waits for the budget month until 2027-01-15T08:00:00.000Z/)
      assert.match(lines[2] ?? "", /sales +waits for a budget until 2027-01-15T08:00:00.000Z/)
      const ticket = {
        campaign: "default",
        ticket: "0123456789",
        state: "waiting" as const,
        row: 0,
        since: 0,
        position: 2,
      }
      const found = [
        { ...ticket, resumesAt: 1_800_000_000_000, budgets: ["customer"] },
        { ...ticket, ticket: "0123456780" },
      ]
      const shown = yield* showTicket({ find: () => Effect.succeed({ found, more: true }) }, "0123")
      assert.include(
        shown.lines,
        "0123456789  default  waiting, place 2, waits for the budget customer, at the latest until 2027-01-15T08:00:00.000Z",
      )
    }),
  )

  it.effect("says how many of those who wait do so for budgets of their own", () =>
    Effect.gen(function* () {
      const waiting = (more: { readonly unpaid?: number }) =>
        Effect.map(
          showCampaign(
            { view: () => Effect.succeed({ ...NO_VIEW, queue: { ...EMPTY_VIEW, waiting: 7, ...more } }) },
            "default",
          ),
          ({ lines }) => lines.find((line) => line.startsWith("waiting"))?.replace(/ +/g, " "),
        )
      assert.strictEqual(yield* waiting({ unpaid: 5 }), "waiting 7, 5 of them for budgets of their own")
      assert.strictEqual(yield* waiting({}), "waiting 7")
    }),
  )

  it.effect("shows a campaign once the checks are over that the first look has begun", () =>
    Effect.gen(function* () {
      let looks = 0
      const health = (): ReadonlyArray<Health> => [
        { name: "Platform", state: ++looks < 3 ? "checking" : "ok", detail: looks < 3 ? "" : "responds", at: 0 },
        { name: "Instances", state: "checking", detail: "", at: 0 },
      ]
      const view = () =>
        Effect.sync(() => ({
          ...NO_VIEW,
          health: health(),
        }))
      const client: Pick<ConsoleClient, "view"> = { view }
      const shown = yield* Effect.forkChild(showCampaign(client, "default"))
      yield* TestClock.adjust("1 second")
      const { lines } = yield* Fiber.join(shown)
      assert.include(lines, "Platform: ok, responds")
      assert.strictEqual(looks, 3)
    }),
  )
})

describe("campaign show after the platform has died", () => {
  const NOW = 1_800_000_000_000
  const open = {
    ...{ waiting: 0, present: 0, held: 0, live: 0, averageMillis: 0, backoffUntil: 0, disrupted: false, probeUntil: 0 },
    ...{ doubts: 0, paused: false, draining: false, accepted: 0, firstAcceptedAt: 0, slotPage: [], waitingPage: [] },
  }
  const okAt = (at: number): Health => ({ name: "Platform", state: "ok", detail: "reachable", at })
  const failedAt = (at: number): Health => ({ name: "Platform", state: "failed", detail: "cannot connect", at })
  /** What is printed where the looks, a quarter of a second apart, find these. */
  const shown = (looks: ReadonlyArray<Health>) =>
    Effect.gen(function* () {
      let n = 0
      const view = () =>
        Effect.sync(() => {
          const health = looks[Math.min(n, looks.length - 1)]
          return { ...NO_VIEW, now: NOW + 250 * n++, queue: open, health: health === undefined ? [] : [health] }
        })
      const showing = yield* Effect.forkChild(showCampaign({ view }, "default"))
      yield* TestClock.adjust("6 seconds")
      const { lines } = yield* Fiber.join(showing)
      const state = lines.find((line) => line.startsWith("state"))?.replace(/ +/g, " ")
      return { state, health: lines.at(-1) }
    })

  it.effect("waits for the check that its look has begun, because the last result is old", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* shown([okAt(NOW - 600_000), okAt(NOW - 600_000), failedAt(NOW + 400)]), {
        state: "state open, but the check of the platform fails",
        health: "Platform: failed, cannot connect",
      })
    }),
  )

  it.effect(
    "says how old a result is that it shows: one that is not asked for again yet, or has no successor in 5 s",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* shown([okAt(NOW - 12_300)]), {
          state: "state open",
          health: "Platform: ok, reachable (checked 12 s ago)",
        })
        assert.deepStrictEqual(yield* shown([okAt(NOW - 600_000)]), {
          state: "state open",
          health: "Platform: ok, reachable (checked 605 s ago)",
        })
        assert.strictEqual((yield* shown([okAt(NOW - 900)])).health, "Platform: ok, reachable")
      }),
  )

  it.effect("does not say open alone above a check that fails, also while no call has failed yet", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* shown([failedAt(NOW)]), {
        state: "state open, but the check of the platform fails",
        health: "Platform: failed, cannot connect",
      })
    }),
  )
})

describe("the arguments of ticket", () => {
  it("may be an id that begins with a hyphen, before or after the flags", () => {
    const id = "-4--PYdb--U8jwPN9abcdQQCZC"
    assert.deepStrictEqual(withTicketLast(["ticket", "show", id, "--json"]), ["ticket", "show", "--json", "--", id])
    assert.deepStrictEqual(withTicketLast(["ticket", "remove", "--end-call", id]), [
      "ticket",
      "remove",
      "--end-call",
      "--",
      id,
    ])
  })

  it("stay as they are otherwise", () => {
    const others = [
      ["ticket", "show", "64ee42b03b"],
      ["ticket", "show", "--", "-4--PYdb--U8jwPN9abcdQQCZC"],
      ["ticket", "remove", "--a-flag-that-nobody-has", "64ee42b03b"],
      ["serve", "-4--PYdb--U8jwPN9abcdQQCZC"],
    ]
    for (const args of others) assert.deepStrictEqual(withTicketLast(args), args)
  })
})

describe("the health of the store", () => {
  it("is not ok when it answers slowly", () => {
    assert.strictEqual(storeHealth(true, true, 3, 0).state, "ok")
    assert.deepInclude(storeHealth(true, true, 300, 0), {
      state: "failed",
      detail: "responds in 300 ms, which is too slow: every request waits for it",
    })
  })
})
