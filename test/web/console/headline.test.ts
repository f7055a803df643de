/** What the console says first, and what is in the address of its page. */
import { describe, expect, it } from "vitest"
import type { Campaigns, Health, View } from "../../../src/operator/shapes.ts"
import { type Served, stateOf, type Terms } from "../../../src/web/console/campaign-state.ts"
import {
  brokenElsewhere,
  failing,
  headlineOf,
  healthLine,
  type QueueView,
  steadied,
  titleOf,
} from "../../../src/web/console/headline.ts"
import { orderedText } from "../../../src/web/console/ordered-words.ts"
import { readAddress, writeAddress } from "../../../src/web/console/page-address.ts"
import { isAddress, networkOf, soughtBy } from "../../../src/web/console/sought.ts"
import { chosenTime, whyRow } from "../../../src/web/console/words.ts"
import { EMPTY_VIEW } from "../../support/queue-view.ts"

const NOW = 1_000_000

const check = (name: string, state: Health["state"] = "ok", detail = "responds in 2 ms"): Health => ({
  name,
  state,
  detail,
  at: NOW,
})

const queue = { ...EMPTY_VIEW, waiting: 3, slotPage: [], waitingPage: [] }

const viewOf = (change: Partial<View> = {}): View => ({
  version: 6,
  now: NOW,
  campaigns: ["default", "sales"],
  campaign: "default",
  slots: 2,
  instance: "a",
  health: [check("Store"), check("Platform, default"), check("IP provider", "off"), check("Instances")],
  queue,
  instances: [{ id: "a", seenAt: NOW, host: "h", startedAt: 0, connections: 0 }],
  refused: [],
  buckets: [],
  ...change,
})

const queueViewOf = (view: View): QueueView => ({ ...view, queue: view.queue ?? queue })
const headline = (view: View, live: boolean | undefined = true, problem = "") =>
  headlineOf(view, queueViewOf(view), { live, problem })

describe("the headline", () => {
  it("is the state of the campaign while all is well", () => {
    const view = viewOf()
    expect(headline(view)).toMatchObject({ level: "good", title: "Taking calls" })
    expect(healthLine(view)).toBe("All 3 checks pass: the store responds in 2 ms, 1 instance")
    expect(titleOf(headline(view), queueViewOf(view))).toBe("Taking calls, 3 waiting: voicegate console")
  })

  it("is a used-up budget, in red, before what was ordered and before checks that fail, with what to do", () => {
    const day = { budget: "day", until: Date.parse("2026-11-28T00:00:00.000Z"), endsCalls: true }
    const say = (change: Partial<View>) => headline(viewOf({ usedUp: day, ...change }))
    expect(say({})).toMatchObject({
      level: "bad",
      title: "Budget used up",
      advice:
        'Add to the budget, or wait until it resets: `voicegate budget adjust default day --add 50 --reason "why"`.',
    })
    expect(say({}).meaning).toMatch(/^Too little is left of the budget day until .* Running calls are ended\.$/)
    expect(say({ usedUp: { ...day, endsCalls: false } }).meaning).toMatch(/when their turn comes\.$/)
    expect(say({ queue: { ...queue, paused: true } })).toMatchObject({
      level: "bad",
      title: "Budget used up",
      meaning: expect.stringMatching(/Calls are paused too\.$/),
    })
    expect(say({ health: [check("Store", "failed", "slow")] })).toMatchObject({
      title: "Budget used up",
      also: "Store failing. Slow.",
      advice: expect.stringMatching(/^Add to the budget.* Look at the load of Redis/),
    })
    const awaited = headline(viewOf({ queue: { ...queue, resumesAt: NOW, budgets: ["month"], draining: true } }))
    expect(awaited).toMatchObject({
      level: "bad",
      title: "Waiting for a budget",
      advice: expect.stringContaining("voicegate budget adjust default month"),
    })
    expect(awaited.meaning).toMatch(/The campaign is draining too\.$/)
    expect(headline(viewOf({ queue: { ...queue, resumesAt: NOW } })).advice).toContain("voicegate budget show default")
  })

  it("is closed as planned, without alarm, also while a budget is used up", () => {
    const hours = { state: "closed", opensAt: NOW + 60_000 } as const
    const usedUp = { budget: "day", until: NOW + 30_000, endsCalls: false }
    expect(headline(viewOf({ hours }))).toMatchObject({ level: "planned", title: "Closed", advice: "" })
    expect(headline(viewOf({ hours, usedUp }))).toMatchObject({
      level: "planned",
      meaning: expect.stringContaining("budget day"),
      advice: "",
    })
    const down = { ...queue, disrupted: true }
    expect(headline(viewOf({ hours, queue: down }))).toMatchObject({ level: "bad", title: "Platform unreachable" })
  })

  it("says what to do about each thing that does not work", () => {
    const platform = { since: NOW - 60_000, startAt: 0, code: "HTTP_401", setting: "" } as const
    const advice = (state: NonNullable<View["queue"]>["platform"], change = {}) =>
      headline(viewOf({ queue: { ...queue, ...change, ...(state && { platform: state }) } })).advice
    const rejected = { ...platform, state: "rejected" } as const
    expect(advice({ ...rejected, setting: "A.B" }, { disrupted: true })).toBe("Correct A.B, and reload the settings.")
    expect(advice(rejected, { disrupted: true })).toMatch(/^Check the account at the platform/)
    expect(advice(undefined, { disrupted: true })).toMatch(/^Look at the platform’s status page, and wait\./)
    expect(advice({ ...platform, state: "webhooks_missing" })).toMatch(/^Check the webhook’s address and secret/)
    expect(advice({ ...platform, state: "at_capacity" })).toMatch(/^Compare `MaxConcurrency`/)
    expect(advice({ ...platform, state: "at_capacity", since: NOW })).toBe("")
    expect(advice({ ...platform, state: "at_capacity" }, { paused: true })).toBe("")
    expect(advice({ ...platform, state: "rate_limited" })).toMatch(/ask the platform for more requests/)
    expect(advice(undefined)).toBe("")
    const failing = (name: string) => headline(viewOf({ health: [check(name, "failed", "no")] }))
    expect(failing("Platform, default").advice).toMatch(/^If the vendor is down, .* Otherwise correct what the check/)
    for (const name of ["Store", "Store, sales", "Platform", "IP provider", "Identity keys", "Instances"])
      expect(failing(name).advice, name).not.toBe("")
    expect(failing("Instance vm")).toMatchObject({
      title: "Instance vm is down",
      also: "Campaign default: Taking calls.",
    })
    const alone = viewOf({ campaigns: ["default"], health: [check("Instance vm", "failed", "no")] })
    expect(headline(alone).also).toBe("Taking calls.")
    expect(failing("Instance vm").advice).toMatch(/^Look at that host: .* nobody loses a place\.$/)
  })

  it("has the time when what is ordered or used up ends by itself", () => {
    const until = NOW + 60_000
    const untilOf = (served: Partial<Served>, terms: Terms = {}) => stateOf({ ...queue, ...served }, NOW, terms).until
    expect(untilOf({}, { usedUp: { budget: "day", until, endsCalls: false } })).toBe(until)
    expect(untilOf({ paused: true, pausedUntil: until })).toBe(until)
    expect(untilOf({ resumesAt: until })).toBe(until)
    expect(untilOf({}, { hours: { state: "closed", opensAt: until } })).toBe(until)
    expect(untilOf({ paused: true })).toBeUndefined()
    expect(untilOf({})).toBeUndefined()
  })

  it("is what an operator has ordered, without alarm", () => {
    expect(headline(viewOf({ queue: { ...queue, paused: true } }))).toMatchObject({ level: "limited", title: "Paused" })
  })

  it("is taken by a check that fails, that of the campaign first, with the state beside it", () => {
    const view = viewOf({
      health: [
        check("Store"),
        check("Platform, sales", "failed", "timeout"),
        check("Platform, default", "failed", "platform: the key is wrong"),
        check("Instances", "failed", "They differ."),
      ],
      queue: { ...queue, paused: true },
    })
    expect(failing(view).map(({ name }) => name)).toEqual(["Platform, default", "Instances", "Platform, sales"])
    expect(headline(view)).toMatchObject({
      level: "bad",
      title: "Platform failing: default",
      meaning: "Platform: the key is wrong.",
      also: "Paused. New callers wait; no one is called.",
    })
    expect(healthLine(view)).toBe("3 of 4 checks fail: Platform of default, Instances, Platform of sales")
    expect(titleOf(headline(view), queueViewOf(view))).toBe("⚠ Platform failing: default, 3 waiting: voicegate console")
  })

  it("names the campaign of its buttons when it is about another one", () => {
    const health = [check("Platform, sales", "failed", "timeout")]
    expect(headline(viewOf({ health }))).toMatchObject({
      title: "Platform failing: sales",
      meaning: "Timeout.",
      also: "Campaign default: Taking calls.",
    })
  })

  it("says what the check found of a platform that serves nobody", () => {
    const health = [check("Platform, sales", "failed", "timeout"), check("Platform, default", "failed", "HTTP 503")]
    const down = { ...queue, disrupted: true, held: 2 }
    expect(headline(viewOf({ health, queue: down }))).toMatchObject({
      title: "Platform unreachable",
      also: "HTTP 503.",
    })
  })

  it("is taken by a platform that serves nobody, also while calls are paused", () => {
    const platform = { state: "rejected", since: NOW, startAt: 0, code: "HTTP_401", setting: "X" } as const
    const rejected = { ...queue, disrupted: true, platform }
    expect(headline(viewOf({ queue: rejected }))).toMatchObject({ level: "bad", title: "Platform refuses calls" })
    expect(headline(viewOf({ queue: { ...rejected, paused: true } }))).toMatchObject({
      level: "bad",
      title: "Platform refuses calls",
      meaning: expect.stringMatching(
        /^Paused\. New callers wait; no one is called\. The platform refuses this campaign/,
      ),
    })
  })

  it("says that the store or the gate is away before anything else", () => {
    const away = viewOf({ queue: null, health: [check("Store", "failed", "The shared store is unreachable.")] })
    expect(headlineOf(away, undefined, { live: true, problem: "" })).toMatchObject({
      level: "bad",
      title: "Store unreachable",
      meaning: "The shared store is unreachable. New callers are turned away until it responds; nobody loses a place.",
    })
    expect(headline(away, false, "The gate isn’t responding. Retrying.")).toMatchObject({
      level: "bad",
      title: "Disconnected",
      meaning: "The gate isn’t responding. Retrying. What is shown is what it said last.",
    })
  })

  it("says what is awaited, and is no state yet", () => {
    const nothing = { live: undefined, problem: "" }
    expect(headlineOf(undefined, undefined, nothing)).toMatchObject({ level: "none", title: "Loading…" })
    const view = viewOf()
    expect(headlineOf(view, queueViewOf(view), { ...nothing, live: true, awaits: "sales" })).toMatchObject({
      level: "none",
      title: "Loading sales…",
      meaning: "The gate is asked for this campaign. What is shown below is of default.",
    })
  })

  it("says what to do when nothing answers", () => {
    const view = viewOf({ queue: null })
    expect(headline(view).advice).toMatch(/^Start Redis, or make it reachable again/)
    expect(headline(view, false, "No answer.").advice).toMatch(/^Check that a gate runs/)
  })

  it("says of when the figures are while the gate or the store is away", () => {
    const view = viewOf()
    const answered = { at: NOW, now: NOW + 200_000 }
    expect(headlineOf(view, queueViewOf(view), { answered, live: false, problem: "No answer." }).meaning).toMatch(
      /^No answer\. What is shown is what it said at \d\d:\d\d:\d\d, 3:20 ago\.$/,
    )
    const away = viewOf({ now: NOW + 65_000, queue: null })
    expect(headlineOf(away, queueViewOf(view), { live: true, problem: "" }).meaning).toMatch(
      /Calls and queue are shown as they were at \d\d:\d\d:\d\d, 1:05 ago\.$/,
    )
  })
})

describe("other campaigns", () => {
  it("are named when something does not work there, and not for what is ordered", () => {
    const figures = { ...EMPTY_VIEW, waiting: 1 }
    const platform = { state: "rejected", since: NOW, startAt: 0, code: "HTTP_401", setting: "X" } as const
    const row = (name: string, change = {}): Campaigns["campaigns"][number] => ({
      name,
      slots: 2,
      figures: { ...figures, ...change },
      refused: {},
    })
    const campaigns = [
      row("default", { disrupted: true }),
      row("sales", { paused: true }),
      { ...row("night"), hours: { state: "closed" } as const },
      { ...row("trial"), usedUp: { budget: "day", until: NOW, endsCalls: false } },
      row("support", { disrupted: true, platform, paused: true }),
      { ...row("away"), figures: null },
    ]
    const view = { now: NOW, campaigns, refusedElsewhere: {} }
    const [trial, support] = [
      { name: "trial", title: "Budget used up" },
      { name: "support", title: "Platform refuses calls" },
    ]
    expect(brokenElsewhere(view, "default")).toEqual([trial, support])
    expect(brokenElsewhere(undefined, "default")).toEqual([])
    const health = [check("Platform, default", "failed"), check("Platform, sales", "failed")]
    expect(brokenElsewhere(view, "default", health)).toEqual([
      { name: "sales", title: "Platform failing" },
      trial,
      support,
    ])
  })
})

describe("what an operator has ordered", () => {
  it("says who and when, of the order that holds", () => {
    const at = NOW - 200_000
    const line = (action: string, who: string, result = "done") => ({ action, who, result, at })
    const lines = [
      line("pause", "eve", "already"),
      line("pause", "ada"),
      line("resume", "bob"),
      line("pause", "bob"),
      line("drain", "cyd"),
    ]
    expect(orderedText(lines, { paused: true, draining: true }, NOW)).toMatch(
      /^Paused by ada at [\d:]{8}, 3:20 ago\. Set to drain by cyd at [\d:]{8}, 3:20 ago\.$/,
    )
    expect(orderedText(lines, { paused: false, draining: false }, NOW)).toBe("")
    expect(orderedText([], { paused: true, draining: false }, NOW)).toBe("")
  })
})

describe("a slow store", () => {
  it("fails its check only when it has been slow for a while, and one that is away at once", () => {
    const slow = viewOf({ health: [check("Store", "failed", "responds in 297 ms, which is too slow")] })
    const first = steadied(slow, 0)
    expect(failing(first.view)).toEqual([])
    const second = steadied(slow, first.slow)
    expect(failing(second.view)).toEqual([])
    expect(failing(steadied(slow, second.slow).view)).toHaveLength(1)
    expect(steadied(viewOf(), second.slow).slow).toBe(0)
    expect(failing(steadied({ ...slow, queue: null }, 0).view)).toHaveLength(1)
  })
})

describe("why each caller waits", () => {
  const row = { ticket: "a", seq: 1, acceptedAt: 1, presentUntil: NOW + 1, position: 3 }
  it.each([
    [row, "2 ahead"],
    [{ ...row, position: 1 }, "Next"],
    [{ ...row, presentUntil: NOW - 1 }, "Absent"],
    [{ ...row, passedOver: "parked" as const }, "Start failed, tried again"],
    [{ ...row, passedOver: "network" as const }, "Network has its share"],
    [{ ...row, passedOver: "budget" as const }, "Own budget used up"],
    [
      { ...row, passedOver: "budget" as const, budgets: ["minutes", "money"], resumesAt: NOW + 86_400_000 },
      `Budget minutes or money used up until ${chosenTime(NOW + 86_400_000)}`,
    ],
    [
      { ...row, passedOver: "budget" as const, budgets: ["minutes"], resumesAt: NOW + 60_000 },
      expect.stringMatching(/^Budget minutes used up until \d\d:\d\d$/),
    ],
  ])("%j: %s", (ticket, words) => {
    expect(whyRow(ticket, NOW)).toEqual(words)
  })
})

describe("the address of the page", () => {
  it("has the campaign and the range, and nothing that a page without them shows", () => {
    for (const search of ["", "?campaign=sales", "?campaign=sales&range=week", "?range=day"])
      expect(writeAddress(readAddress(search))).toBe(search)
    expect(readAddress("?campaign=a&range=century")).toEqual({ campaign: "a", range: "hour" })
  })
})

describe("what is searched for and blocked", () => {
  it("is a hash, an address or a customer", () => {
    expect(soughtBy(" 64ee42b03b ")).toEqual({ hash: "64ee42b03b" })
    expect(soughtBy("203.0.113.7")).toEqual({ caller: "203.0.113.7" })
    expect(soughtBy("2001:db8:1:2::/64")).toEqual({ caller: "2001:db8:1:2::" })
    expect(soughtBy("customer-7")).toEqual({ caller: "customer-7" })
    expect(soughtBy("sub:beef")).toEqual({ caller: "beef" })
    expect(soughtBy("zz")).toBeUndefined()
    expect(["203.0.113.7", "2001:db8::1", "customer-7"].map(isAddress)).toEqual([true, true, false])
  })

  it("may be the network of an address, which a hash does not tell", () => {
    expect(networkOf("203.0.113.7")).toBe("203.0.113.0/24")
    expect(networkOf("2001:db8:1:2::/64")).toBe("2001:db8:1::/48")
    expect(networkOf("habcdefghijklmnop")).toBeUndefined()
    expect(networkOf("203.0.113.0/24")).toBeUndefined()
  })
})
