/**
 * Generated histories: several gates over one store, with callers, crashes, freezes, a failing store, a lossy bus and every kind of
 * platform behaviour. All invariants are checked after every step of the store, and at the end of every history everything must be at rest.
 *
 * Which histories, the commit decides (`test/harness/seed.ts`). `npm run verify -- simulation` plays any number.
 */
import { assert, describe, it } from "@effect/vitest"
import { SEED, seeds } from "../harness/seed.ts"
import { planOfTold, reachAll } from "./corners.ts"
import { crowdOf, planOf } from "./generate.ts"
import { type Played, play } from "./play.ts"
import { report } from "./report.ts"
import { queue } from "./tampering.ts"
import type { Planted } from "./world.ts"

/** Of the commit, by how the platform tells that a call is over. */
const HISTORIES = { usual: 2, page: 1, none: 1 }

const LOW_PLACES_FOUND_BY = 583_039

const check = (played: Played): void => {
  if (played.violation !== undefined) assert.fail(report(played))
  // of a call that nobody tells of, no end is known before the longest call has passed
  if (played.plan.signals === "none") assert.isFalse(played.seen.has("end released"))
}

describe("the simulation", { timeout: 600_000 }, () => {
  for (const [told, ends] of [
    ["usual", ""],
    ["page", " with a platform whose ends are told by the page alone"],
    ["none", " with a platform whose ends nobody tells"],
  ] as const) {
    it(`keeps every invariant in histories of this commit${ends}`, () => {
      for (const seed of seeds(HISTORIES[told])) check(play(planOfTold(told, seed)))
    })

    it(`keeps every invariant in recorded histories${ends}, through every state of a ticket and every answer`, () => {
      const { isRecorded, missing } = reachAll(told, check)
      if (!isRecorded) console.log("searched: `npm run verify -- simulation --record` records these histories")
      assert.deepStrictEqual(missing, [])
    })
  }

  it("keeps every invariant in a crowd larger than one step handles", () => {
    check(play(crowdOf(SEED, 250)))
  })

  it("detects that places behind the first hundred are told too low", () => {
    const low: Planted = {
      name: "places behind the first hundred are told too low",
      rule: queue("heartbeat", (_s, _call, real) => {
        const { result, ...rest } = real()
        const { changes } = result
        if (changes?.steps === undefined) return { ...rest, result }
        const told = (value: number, index: number): number => (index % 2 === 0 ? value - 3 : value)
        const steps = JSON.stringify((JSON.parse(changes.steps) as ReadonlyArray<number>).map(told))
        return { ...rest, result: { ...result, changes: { ...changes, steps } } }
      }),
    }
    // the first finds it, until the program takes another course
    const found = seeds(40, LOW_PLACES_FOUND_BY).some(
      (seed) => play(crowdOf(seed, 250), { planted: low }).violation !== undefined,
    )
    assert.isTrue(found)
  })

  it("runs the same history again from the same seed", () => {
    const course = () => play(planOf(SEED), { traced: true }).trace
    assert.deepStrictEqual(course(), course())
  })
})
