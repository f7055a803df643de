/** A reload that changes what campaigns share of an account, while callers wait. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import type { Json } from "../settings/support.ts"
import { load, reload, request, withGate } from "./support.ts"

/** Two campaigns of an account with two calls; of them, as many as given are for the second alone. */
const shared = (reserved: number, name = "main"): Json => ({
  Account: { Name: name, MaxConcurrency: 2 },
  Campaigns: { sales: { WebCampaignId: "sales-1", Account: { Name: name, ReservedSlots: reserved } } },
})
const waits = (n: number) =>
  Effect.flatMap(Effect.flip(request(n)), (error) =>
    error._tag === "Queued" ? Effect.succeed(error.uniqueRequestId) : Effect.die(new Error(error._tag)),
  )
const stateOf = (ticket: string) =>
  Effect.map(
    Gatekeeper.use((gatekeeper) => gatekeeper.status(ticket)),
    ({ state }) => state,
  )
const ends = (session: string) => Gatekeeper.use((gatekeeper) => gatekeeper.sessionEnded([session]))

describe("a reload of an account", () => {
  it.effect(
    "calls those who wait for a slot that is reserved no longer, and nobody for one that is reserved from now on",
    () =>
      withGate(load(shared(1), 2), ({ next }) =>
        Effect.gen(function* () {
          const talking = yield* request(1)
          const first = yield* waits(2)
          const second = yield* waits(3)
          yield* TestClock.adjust("2 seconds")
          assert.strictEqual(yield* stateOf(first), "waiting")
          yield* next(load(shared(0), 2))
          assert.deepInclude(yield* reload, { changed: ["VoiceAiPlatform.Campaigns.sales.Account.ReservedSlots"] })
          yield* TestClock.adjust("1 second")
          assert.deepStrictEqual([yield* stateOf(first), yield* stateOf(second)], ["called", "waiting"])

          yield* Gatekeeper.use((gatekeeper) => gatekeeper.start(first))
          yield* next(load(shared(2), 2))
          yield* reload
          // both run on, and their slots go to nobody else
          assert.isTrue(yield* ends(talking.sessionId))
          yield* TestClock.adjust("5 seconds")
          assert.deepStrictEqual([yield* stateOf(first), yield* stateOf(second)], ["live", "waiting"])
        }),
      ),
  )

  it.effect(
    "a reload of an account with another name begins the campaign anew, sends away who waited, and ends a running call as before",
    () =>
      withGate(load(shared(0), 2), ({ next }) =>
        Effect.gen(function* () {
          const talking = yield* request(1)
          yield* request(2)
          const waiting = yield* waits(3)
          yield* next(load(shared(0, "other"), 2))
          const warnings: Array<string> = []
          const noting = Logger.make<unknown, void>(({ logLevel, message }) => {
            if (logLevel === "Warn") warnings.push(String(message))
          })
          assert.deepInclude(yield* Effect.provide(reload, Logger.layer([noting])), { _tag: "applied" })
          assert.match(
            warnings.at(-1) ?? "",
            /begin anew .* of VoiceAiPlatform\.Account\.Name, .*sales\.Account\.Name: /,
          )
          assert.strictEqual(yield* stateOf(waiting), "waiting")
          assert.strictEqual(yield* stateOf(talking.uniqueRequestId), "live")
          // the new account has its own calls
          const again = yield* request(4)
          assert.strictEqual(yield* stateOf(again.uniqueRequestId), "live")
          for (let second = 0; second < 75; second++) {
            yield* Effect.ignore(stateOf(waiting))
            yield* TestClock.adjust("1 second")
          }
          assert.strictEqual(yield* stateOf(waiting), "removed")
          assert.strictEqual(yield* stateOf(talking.uniqueRequestId), "live")
          assert.isTrue(yield* ends(talking.sessionId))
          assert.isTrue(yield* ends(again.sessionId))
        }),
      ),
  )
})
