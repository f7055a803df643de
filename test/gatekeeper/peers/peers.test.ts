/** Gates in conflict: with different settings, on another database, or visible only through webhooks. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { COUNTED_MILLIS, MIN_UNKNOWN } from "../../../src/gatekeeper/calls/unknown-sessions.ts"
import { DEBOUNCE_MILLIS } from "../../../src/gatekeeper/peers/debounce.ts"
import { ANNOUNCE_MILLIS } from "../../../src/gatekeeper/peers/OtherDatabases.ts"
import { Operator } from "../../../src/operator/Operator.ts"
import type { Store } from "../../../src/store/Store.ts"
import { BEGIN, begin, caller, type Given, hangUp, makeWorld } from "../../support/gate.ts"
import { makeStore, type RunningGate, startGate } from "../../support/gates.ts"

const test = (name: string, body: Effect.Effect<void, unknown, Scope.Scope>): void => {
  it.effect(name, () => Effect.andThen(TestClock.setTime(BEGIN), Effect.scoped(body)))
}

const slots = (MaxConcurrency: number | undefined, more: object = {}): Given => ({
  VoiceAiPlatform: { MaxConcurrency, ...more },
})

const open = (store: Store["Service"], given: Given) => startGate(makeWorld(), store, given)

const instances = (gate: RunningGate) =>
  Effect.map(
    gate.on(
      Operator.use((operator) => operator.view(undefined, { firstSlot: 0, slots: 1, firstPlace: 0, places: 1 }, 0)),
    ),
    (view) => view?.health.find(({ name }) => name === "Instances"),
  )

/** Longer than a difference must persist to be logged, with a heartbeat on either side. */
const UNTIL_SAID = DEBOUNCE_MILLIS + 4_000

describe("instances on one store with different settings", () => {
  test(
    "are each logged once, with the setting, both values and both instances",
    Effect.gen(function* () {
      const store = yield* makeStore
      const one = yield* open(store, slots(3))
      const other = yield* open(store, { ...slots(5), Queue: { StartWindowSeconds: 60 } })
      yield* TestClock.adjust(UNTIL_SAID)
      const line = /^This instance, \S+ \(\S+\), and \S+ \(\S+\) on the same store have different settings: (.*)$/
      expect(one.warnings.map((warning) => line.exec(warning)?.[1])).toEqual([
        "Queue.StartWindowSeconds is 30 here and 60 there; VoiceAiPlatform.MaxConcurrency is 3 here and 5 there. Each instance " +
          "uses its own until they are the same.",
      ])
      expect(other.warnings.map((warning) => line.exec(warning)?.[1])).toEqual([
        "Queue.StartWindowSeconds is 60 here and 30 there; VoiceAiPlatform.MaxConcurrency is 5 here and 3 there. Each instance " +
          "uses its own until they are the same.",
      ])
      const idOf = (warning = "") => [...warning.matchAll(/\((\S+)\)/g)].slice(0, 2).map(([, id]) => id)
      expect(idOf(one.warnings[0])).toEqual(idOf(other.warnings[0]).reverse())
      yield* TestClock.adjust("1 hour")
      expect([one.warnings.length, other.warnings.length]).toEqual([1, 1])
    }),
  )

  test(
    "are shown to the operator until they are the same",
    Effect.gen(function* () {
      const store = yield* makeStore
      const gate = yield* open(store, slots(3))
      expect(yield* instances(gate)).toMatchObject({ state: "ok", detail: "No other instance reports." })
      const other = yield* open(store, slots(5))
      yield* TestClock.adjust(UNTIL_SAID)
      expect(yield* instances(gate)).toMatchObject({
        state: "failed",
        detail: "Other instances have different settings: VoiceAiPlatform.MaxConcurrency is 3 here and 5 there.",
      })
      yield* other.stop
      yield* open(store, slots(3))
      yield* TestClock.adjust("40 seconds")
      expect(yield* instances(gate)).toMatchObject({ state: "ok", detail: "2 instances with the same settings." })
    }),
  )

  test(
    "are not logged during a rolling restart",
    Effect.gen(function* () {
      const store = yield* makeStore
      const [a, b] = [yield* open(store, slots(3)), yield* open(store, slots(3))]
      yield* TestClock.adjust("5 minutes")
      yield* a.stop
      const c = yield* open(store, slots(4))
      yield* TestClock.adjust("20 seconds")
      yield* b.stop
      const d = yield* open(store, slots(4))
      yield* TestClock.adjust("5 minutes")
      for (const gate of [a, b, c, d]) expect(gate.warnings).toEqual([])
    }),
  )

  test(
    "are logged again when another setting differs",
    Effect.gen(function* () {
      const store = yield* makeStore
      const gate = yield* open(store, slots(3))
      const other = yield* open(store, slots(5))
      yield* TestClock.adjust(UNTIL_SAID)
      yield* other.stop
      yield* open(store, slots(6))
      yield* TestClock.adjust("2 minutes")
      expect(gate.warnings.map((line) => /\d+ here and \d+ there/.exec(line)?.[0])).toEqual([
        "3 here and 5 there",
        "3 here and 6 there",
      ])
    }),
  )

  test(
    "are logged when their hours, prices or budgets differ",
    Effect.gen(function* () {
      const store = yield* makeStore
      const given = (Open: string, Cap: number, PerMinute: number) =>
        slots(3, {
          Hours: { Zone: "UTC", Open },
          Price: { PerMinute, Currency: "EUR" },
          Budgets: [{ Name: "team", Of: "campaign", Unit: "money", Per: "month", Cap, AlertAt: "0.8" }],
        })
      const gate = yield* open(store, given("Daily 00:00-24:00", 5, 0.1))
      const other = yield* open(store, given("Daily 00:00-24:00", 5, 0.1))
      yield* TestClock.adjust(UNTIL_SAID)
      expect([...gate.warnings, ...other.warnings]).toEqual([])
      yield* other.stop
      yield* open(store, given("Daily 00:00-23:00", 6, 0.2))
      yield* TestClock.adjust(UNTIL_SAID)
      const [line = ""] = gate.warnings
      for (const difference of [
        "VoiceAiPlatform.Hours is Zone UTC, Open Daily 00:00-24:00, Closed , AfterCloseMinutes 0 here and Zone UTC, Open Daily 00:00-23:00, ",
        "VoiceAiPlatform.Price is PerMinute 0.1, Currency EUR, RoundUpSeconds 1, MinimumSeconds 0 here and PerMinute 0.2, ",
        "VoiceAiPlatform.Budgets is team 5 money a month of the campaign, end, alerts at 0.8 here and team 6 money ",
      ]) {
        expect(line).toContain(difference)
      }
    }),
  )

  test(
    "are logged with the budgets that differ, however many are the same",
    Effect.gen(function* () {
      const store = yield* makeStore
      const given = (...caps: ReadonlyArray<number>) =>
        slots(3, {
          Budgets: caps.map((Cap, n) => ({ Name: `budget-${n}`, Of: "campaign", Unit: "minutes", Per: "day", Cap })),
        })
      const gate = yield* open(store, given(1, 2, 3, 4, 5))
      yield* open(store, given(1, 2, 3, 4))
      yield* TestClock.adjust(UNTIL_SAID)
      const fifth = "VoiceAiPlatform.Budgets is budget-4 5 minutes a day of the campaign, end, alerts at none here"
      expect(gate.warnings[0]).toContain(`${fifth} and without that there`)
    }),
  )

  test(
    "say of the budgets of each campaign how they differ, however many others there are",
    Effect.gen(function* () {
      const store = yield* makeStore
      const given = (n: number, Cap: number): Given => ({
        Queue: {
          StartWindowSeconds: 20 + n,
          DisconnectGraceSeconds: 20 + n,
          MaxLength: 50 + n,
          MaxCallMinutes: 30 + n,
        },
        Security: {
          ...{ RateLimitHourly: 20 + n, RateLimitDaily: 100 + n, RateLimitConcurrency: 3 + n },
          ...{ MissedTurnCost: 1 + n, RefundsPerHour: 10 + n },
        },
        VoiceAiPlatform: {
          MaxConcurrency: 3 + n,
          Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 5 }],
          Campaigns: {
            sales: {
              ...{ WebCampaignId: "sales", MaxConcurrency: 1 },
              Budgets: [{ Name: "sales", Of: "campaign", Unit: "minutes", Per: "day", Cap }],
            },
          },
        },
      })
      const gates = [yield* open(store, given(0, 6)), yield* open(store, given(1, 7))]
      yield* TestClock.adjust(UNTIL_SAID)
      const told = (campaign: string) =>
        Effect.forEach(gates, (gate) => gate.on(Operator.use((operator) => operator.budgets(campaign, {}))))
      const [one, other] = yield* told("sales")
      const sales = (cap: number) => `sales ${cap} minutes a day of the campaign, end, alerts at none`
      expect(one).toMatchObject({
        differences: [`VoiceAiPlatform.Campaigns.sales.Budgets is ${sales(6)} here and ${sales(7)} there`],
      })
      expect(other).toMatchObject({
        differences: [`VoiceAiPlatform.Campaigns.sales.Budgets is ${sales(7)} here and ${sales(6)} there`],
      })
      for (const view of yield* told("default")) expect(view).not.toHaveProperty("differences")
      // the log and the console name some of so many
      for (const { warnings } of gates) expect(warnings[0]).toMatch(/; and \d+ more\. Each instance uses its own/)
    }),
  )

  test(
    "are logged when their campaigns differ, whichever has more",
    Effect.gen(function* () {
      const store = yield* makeStore
      const more = yield* open(
        store,
        slots(3, { Campaigns: { sales: { WebCampaignId: "sales-1", MaxConcurrency: 1 } } }),
      )
      const less = yield* open(store, slots(3))
      yield* TestClock.adjust(UNTIL_SAID)
      expect(more.warnings).toHaveLength(1)
      expect(more.warnings[0]).toContain("campaign sales (business/sales-1) is in the settings here and not there")
      expect(less.warnings[0]).toContain("campaign business/sales-1 is in the settings there and not here")
    }),
  )

  test(
    "compare campaigns by identity, not by name or order",
    Effect.gen(function* () {
      const store = yield* makeStore
      const campaigns = (...names: ReadonlyArray<readonly [string, string]>) =>
        slots(3, {
          Campaigns: Object.fromEntries(names.map(([name, id]) => [name, { WebCampaignId: id, MaxConcurrency: 1 }])),
        })
      const one = yield* open(store, campaigns(["sales", "sales-1"], ["help", "help-1"]))
      const other = yield* open(store, campaigns(["hilfe", "help-1"], ["verkauf", "sales-1"]))
      yield* TestClock.adjust(UNTIL_SAID)
      expect([...one.warnings, ...other.warnings]).toEqual([])
    }),
  )

  test(
    "show neither the platform's key nor the path of its address",
    Effect.gen(function* () {
      const store = yield* makeStore
      const sent: Array<string> = []
      const recording: Store["Service"] = {
        ...store,
        run: (rule, ask) => {
          if (rule.name.startsWith("gates.")) sent.push(JSON.stringify(ask))
          return store.run(rule, ask)
        },
      }
      const gate = yield* open(recording, slots(3))
      yield* open(
        recording,
        slots(3, { BaseUrl: "https://platform.example/secret-path-of-a-tenant", ApiSecretToken: "another-key" }),
      )
      yield* TestClock.adjust(UNTIL_SAID)
      expect(gate.warnings[0]).toMatch(
        /BaseUrl is https:\/\/platform\.example\/… \(\w{8}\) here and https:\/\/platform\.example\/… /,
      )
      for (const text of [...gate.warnings, ...sent]) {
        for (const secret of ["the-platform-key", "another-key", "secret-path"]) expect(text).not.toContain(secret)
      }
    }),
  )
})

/** Two databases of one server: their keys are separate, and messages published on either are received on both. */
const twoDatabases = Effect.gen(function* () {
  const [one, two] = [yield* makeStore, yield* makeStore]
  const listening = (store: Store["Service"]): Store["Service"] => ({
    ...store,
    subscribe: (channel, onMessage) =>
      Effect.andThen(one.subscribe(channel, onMessage), two.subscribe(channel, onMessage)),
  })
  return [listening(one), listening(two)] as const
})

describe("gates for one campaign on two databases of a server", () => {
  test(
    "detect each other, and each is logged once",
    Effect.gen(function* () {
      const [one, two] = yield* twoDatabases
      const [a, b] = [yield* open(one, slots(3)), yield* open(two, slots(3))]
      yield* TestClock.adjust(DEBOUNCE_MILLIS + 2 * ANNOUNCE_MILLIS)
      for (const gate of [a, b]) {
        expect(gate.warnings).toHaveLength(1)
        expect(gate.warnings[0]).toMatch(
          /^This instance, \S+ \(\S+\), serves the same campaign as \S+ \(\S+\) with another database of the same Redis server: default\./,
        )
      }
      expect(yield* instances(a)).toMatchObject({ state: "failed" })
      yield* TestClock.adjust("1 hour")
      expect([a.warnings.length, b.warnings.length]).toEqual([1, 1])
      yield* b.stop
      yield* TestClock.adjust("2 minutes")
      expect(yield* instances(a)).toMatchObject({ state: "ok" })
    }),
  )

  test(
    "log nothing if their campaigns or platforms differ",
    Effect.gen(function* () {
      const [one, two] = yield* twoDatabases
      const a = yield* open(one, slots(3))
      const b = yield* open(two, slots(3, { WebCampaignId: "another" }))
      const c = yield* open(two, slots(3, { BaseUrl: "https://staging.example/api/v1/" }))
      yield* TestClock.adjust("4 minutes")
      for (const gate of [a, c]) expect(gate.warnings.filter((line) => line.includes("database"))).toEqual([])
      expect(b.warnings.filter((line) => line.includes("another database"))).toEqual([])
    }),
  )

  test(
    "ignore messages that no gate has written",
    Effect.gen(function* () {
      const store = yield* makeStore
      const gate = yield* open(store, slots(3))
      for (const message of [
        "",
        "x",
        "other {}",
        `other ${"9".repeat(20_000)}`,
        'other {"id":"a\\nb","host":"h","campaigns":[]}',
      ]) {
        yield* store.publish("vg:gates", message)
      }
      yield* TestClock.adjust("3 minutes")
      expect(gate.warnings).toEqual([])
    }),
  )
})

describe("webhooks of unknown sessions", () => {
  test(
    "are logged once an hour, if they are the majority",
    Effect.gen(function* () {
      const gate = yield* open(yield* makeStore, slots(100))
      const unknown = (from: number, count: number) =>
        Effect.forEach(
          Array.from({ length: count }, (_, n) => n),
          (n) => gate.on(hangUp(`strange-${from + n}`)),
        )
      for (let n = 1; n <= MIN_UNKNOWN; n++) {
        yield* gate.on(begin(caller(n)))
        yield* gate.on(hangUp(`web-${n}`))
      }
      yield* unknown(0, MIN_UNKNOWN)
      // told again, they are no more
      yield* unknown(0, MIN_UNKNOWN)
      expect(gate.warnings).toEqual([])
      yield* unknown(100, 5)
      expect(gate.warnings).toHaveLength(1)
      expect(gate.warnings[0]).toContain(`${MIN_UNKNOWN + 1} of the last ${2 * MIN_UNKNOWN + 1} session-ended webhooks`)
      yield* TestClock.adjust(COUNTED_MILLIS)
      yield* unknown(200, MIN_UNKNOWN - 1)
      expect(gate.warnings).toHaveLength(1)
      yield* unknown(300, 3)
      expect(gate.warnings).toHaveLength(2)
    }),
  )
})
