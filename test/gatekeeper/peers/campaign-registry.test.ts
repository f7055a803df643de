import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { REMOVED_MAX } from "../../../src/gatekeeper/peers/rules/membership.ts"
import type { Store } from "../../../src/store/Store.ts"
import { begin, caller, hangUp } from "../../support/gate.ts"
import { startGate } from "../../support/gates.ts"
import { loseHeartbeats, SALES, test, without, withSales } from "./removed-campaign.ts"

describe("the registry of campaigns", () => {
  test("is read when a webhook needs it, if the store was unavailable at the start", (bench) =>
    Effect.gen(function* () {
      const old = yield* bench.start(withSales)
      const call = yield* old.on(begin(caller(1), SALES))
      yield* old.stop
      const { setLost, store } = loseHeartbeats(bench.store)
      setLost(true)
      const gate = yield* startGate(bench.world, store, without)
      setLost(false)
      expect(yield* gate.on(hangUp(call.sessionId))).toBe(true)
    }))

  test(`reports at most ${REMOVED_MAX} removed campaigns, and the next ones when these are gone`, (bench) =>
    Effect.gen(function* () {
      const names = Array.from({ length: REMOVED_MAX + 8 }, (_, n) => `c${n}`)
      const Campaigns = Object.fromEntries(
        names.map((name) => [name, { WebCampaignId: name, MaxConcurrency: 1 }] as const),
      )
      const old = yield* bench.start({ VoiceAiPlatform: { Campaigns }, Queue: { MaxCallMinutes: 1 } })
      for (const [n, name] of names.entries()) yield* old.on(begin(caller(n), { campaignId: name }))
      yield* old.stop
      const steps: Array<string> = []
      const counted: Store["Service"] = {
        ...bench.store,
        run: (rule, asked) => {
          steps.push(rule.name)
          return bench.store.run(rule, asked)
        },
      }
      const gate = yield* startGate(bench.world, counted, {})
      steps.length = 0
      yield* gate.on(hangUp("nobody's"))
      expect(steps.filter((name) => name === "queue.end")).toHaveLength(REMOVED_MAX + 1)
      // a webhook of a served campaign costs the same as before
      yield* gate.on(begin(caller(100)))
      steps.length = 0
      expect(yield* gate.on(hangUp(`web-${names.length + 1}`))).toBe(true)
      expect(steps.filter((name) => name === "queue.end")).toHaveLength(1)
      // all end by the maximum call length, one after the other
      yield* TestClock.adjust("25 minutes")
      steps.length = 0
      yield* gate.on(hangUp("nobody's"))
      expect(steps.filter((name) => name === "queue.end")).toHaveLength(1)
    }))
})
