/** Callers whose address is not checked: counted, logged once, and no lookup for those who are refused anyway. */
import { describe, expect } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import { IpIntelFailed, noFacts } from "../../../src/ip-intel/facts.ts"
import { makeCounts } from "../../../src/operator/counts.ts"
import { ask, CALLER, caller, gateTest } from "../../support/gate.ts"

const budgetSpent = new IpIntelFailed({
  provider: "script",
  reason: "budget",
  message: "script may be asked 600 times",
})
const ofNetwork = new IpIntelFailed({ provider: "script", reason: "network_budget", message: "script of one network" })
const counted = (counter: Metric.Counter<number>) => Effect.map(Metric.value(counter), ({ count }) => count)

/** The warnings that an effect logs. */
const warningsOf = Effect.fnUntraced(function* <R>(part: Effect.Effect<void, unknown, R>) {
  const warnings: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn" && /unchecked/i.test(String(message))) warnings.push(String(message))
  })
  yield* Effect.provide(part, Logger.layer([logger]))
  return warnings
})

describe("callers who are not checked", () => {
  for (const [OnError, outcome, words] of [
    ["allow", "let_through", "Let through unchecked"],
    ["block", "blocked", "Blocked unchecked"],
  ] as const) {
    gateTest(
      `are counted by reason, and logged once and then once a minute as a count: ${OnError}`,
      { IpIntel: { OnError }, Security: { RateLimitHourly: 0, RateLimitDaily: 0 } },
      (world) =>
        Effect.gen(function* () {
          const before = {
            budget: yield* counted(metrics.unchecked[outcome].budget),
            network: yield* counted(metrics.unchecked[outcome].network_budget),
            blocked: yield* counted(metrics.blocked.ip_check_failed),
          }
          const counts = yield* makeCounts
          world.lookup = () => Effect.fail(budgetSpent)
          const warnings = yield* warningsOf(
            Effect.gen(function* () {
              for (let n = 0; n < 100; n++) yield* ask(caller(n))
              world.lookup = () => Effect.fail(ofNetwork)
              for (let n = 0; n < 50; n++) yield* ask(caller(n))
              yield* TestClock.adjust("1 minute")
              // after a minute without such callers, the next one is logged at once
              yield* TestClock.adjust("2 minutes")
              yield* ask(caller(0))
              yield* TestClock.adjust("2 minutes")
            }),
          )
          expect(warnings).toHaveLength(3)
          expect(warnings[0]).toContain(`${words}: script may be asked 600 times`)
          expect(warnings[1]).toBe(
            `${words} in the last minute: 149 more requests (budget 99, network_budget 50). The last: script of one network`,
          )
          expect(warnings[2]).toContain(`${words}: script of one network`)
          expect((yield* counted(metrics.unchecked[outcome].budget)) - before.budget).toBe(100)
          expect((yield* counted(metrics.unchecked[outcome].network_budget)) - before.network).toBe(51)
          const isBlocked = OnError === "block" ? 151 : 0
          expect((yield* counted(metrics.blocked.ip_check_failed)) - before.blocked).toBe(isBlocked)
          const pending = yield* counts.pending
          expect(pending.letThroughUnchecked ?? 0).toBe(151 - isBlocked)
          expect(pending["refused.ip_check_failed"] ?? 0).toBe(isBlocked)
        }),
    )
  }

  gateTest("include those for whom a blocked fact is unknown", {}, (world) =>
    Effect.gen(function* () {
      const before = yield* counted(metrics.unchecked.let_through.unknown_fact)
      world.lookup = () => Effect.succeed({ ...noFacts, vpn: null })
      const warnings = yield* warningsOf(ask())
      expect(warnings).toEqual([expect.stringContaining("script does not say whether the address is vpn")])
      expect(warnings.join()).not.toContain(CALLER)
      expect((yield* counted(metrics.unchecked.let_through.unknown_fact)) - before).toBe(1)
    }),
  )
})

describe("a caller whose refusal still holds", () => {
  gateTest("costs no lookup", { Security: { RateLimitHourly: 1 } }, (world) =>
    Effect.gen(function* () {
      expect((yield* ask())._tag).toBe("Started")
      expect((yield* ask())._tag).toBe("RateLimited")
      expect(world.lookedUp).toEqual([CALLER, CALLER])
      for (let n = 0; n < 50; n++) expect(yield* ask()).toMatchObject({ _tag: "RateLimited", limit: "hour" })
      expect(world.lookedUp).toHaveLength(2)
      // another one is still checked before any quota is taken
      world.lookup = () => Effect.succeed({ ...noFacts, vpn: true })
      expect(yield* ask(caller(1))).toMatchObject({ _tag: "Blocked", reason: "vpn" })
    }),
  )
})
