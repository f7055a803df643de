/**
 * The time limit of one call at every platform: the vendor is told it where it takes one, not below its own shortest one; the gate ends the call
 * where it can; and where neither ends it in time, its slot is held for as long as the vendor may let it run.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { MAX_LIFETIME_SECONDS } from "../../../src/platform-api/adapter.ts"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import { PLATFORMS } from "../../../src/platform-api/vendors.ts"
import { BEGIN } from "../../support/gate.ts"
import { ask, joined, stateOf, vendorTest, type World } from "./rig.ts"

/** The shortest limits that vendors take (s). */
const SHORTEST: Readonly<Record<string, number>> = { assemblyai: 60, retell: 60, vapi: 10 }
/** A limit that all take, and one that is below the shortest of some (s). */
const USUAL = 90
const SHORT = 20
const MOST = { MaxCallMinutes: 10 }

/** What of a start tells the vendor a limit, by what tells it ten minutes. */
const limitFor = (limit: string, seconds: number): string =>
  limit.replace("600000", String(seconds * 1000)).replace("600", String(seconds))

/** What the vendor was told. */
const toldTo = ({ fake }: World): string =>
  fake.requests.map(({ body, query }) => `${query ?? ""} ${JSON.stringify(body)}`).join("\n")

const lengths = (subject: ContractFacts): void => {
  const { ends, limit, name, platform } = subject
  describe(`a limit of a call at ${name ?? platform}`, () => {
    if (limit !== undefined) {
      vendorTest(
        "reaches the vendor",
        subject,
        (world) =>
          Effect.gen(function* () {
            yield* ask(1)
            // Daily ends a call with its room
            const expected = platform === "daily" ? `"exp":${BEGIN / 1000 + USUAL}` : limitFor(limit, USUAL)
            assert.include(toldTo(world), expected)
          }),
        { MaxCallSeconds: USUAL },
        MOST,
      )
      vendorTest(
        "is not below the shortest that the vendor takes",
        subject,
        (world) =>
          Effect.gen(function* () {
            yield* ask(1)
            const told = Math.max(SHORT, SHORTEST[platform] ?? SHORT)
            const expected = platform === "daily" ? `"exp":${BEGIN / 1000 + SHORT}` : limitFor(limit, told)
            assert.include(toldTo(world), expected)
          }),
        { MaxCallSeconds: SHORT },
        MOST,
      )
    }
    if (ends) {
      vendorTest(
        "is kept by the gate, which ends the call",
        subject,
        (world) =>
          Effect.gen(function* () {
            const started = yield* ask(1)
            const id = yield* joined(world, started)
            yield* world.pass(USUAL / 60 - 0.25)
            assert.isTrue(world.fake.isRunning(id))
            yield* world.pass(0.5)
            assert.isFalse(world.fake.isRunning(id))
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "too_long")
          }),
        { MaxCallSeconds: USUAL },
        MOST,
      )
      return
    }
    if (limit !== undefined) {
      const held = Math.max(SHORT, SHORTEST[platform] ?? SHORT)
      vendorTest(
        "that only the vendor keeps holds the slot until the vendor has ended the call",
        subject,
        (world) =>
          Effect.gen(function* () {
            const started = yield* ask(1)
            yield* joined(world, started)
            // the vendor counts from when the page joins, until when the longest credential has expired, and gets a minute
            const longest = held + MAX_LIFETIME_SECONDS + 60
            yield* world.pass(longest / 60 - 0.25)
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
            yield* world.pass(0.5)
            assert.strictEqual(yield* stateOf(started.uniqueRequestId), "reclaimed")
          }),
        { MaxCallSeconds: SHORT },
        MOST,
      )
      return
    }
    vendorTest(
      "that nobody keeps holds the slot for as long as the vendor lets a call run",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          const id = yield* joined(world, started)
          yield* world.pass(3.5)
          assert.isTrue(world.fake.isRunning(id))
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
          yield* world.pass(1)
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "reclaimed")
        }),
      { MaxCallSeconds: USUAL, VendorEndsAfterMinutes: 3 },
      MOST,
    )
    vendorTest(
      "that nobody keeps holds the slot until the longest call has passed, where nothing is known of the vendor",
      subject,
      (world) =>
        Effect.gen(function* () {
          const started = yield* ask(1)
          yield* joined(world, started)
          yield* world.pass(8)
          assert.strictEqual(yield* stateOf(started.uniqueRequestId), "live")
        }),
      { MaxCallSeconds: USUAL },
      MOST,
    )
  })
}

for (const platform of PLATFORMS) {
  const { contracts }: { readonly contracts: ReadonlyArray<ContractFacts> } = await import(
    `../../../src/platform-api/${platform}/contract.ts`
  )
  for (const facts of contracts) lengths(facts)
}
