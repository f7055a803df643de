/**
 * At least 200,000 steps of generated histories: several gates over one store, with callers, crashes, freezes, a
 * failing store, a lossy bus and every kind of platform behaviour. All invariants are checked after every step of the
 * store, and at the end of every history everything must be at rest.
 *
 * `SIMULATION_SEED=n` runs one history and prints its course; `npm run verify -- simulation` runs any number.
 */
import { assert, describe, it } from "@effect/vitest"
import { crowdOf, planOf } from "./generate.ts"
import { type Played, play } from "./play.ts"
import { report } from "./report.ts"
import { withSignals } from "./signals.ts"

const STEPS = 200_000
const given = process.env.SIMULATION_SEED

/** Answers, and moves (`rule from→to`), that the histories must contain. */
const CORNERS = [
  ...["admit starting", "admit waiting", "admit full", "admit waiting→called"],
  ...["start starting", "start waiting", "start busy", "start live", "start ended", "start called→missed"],
  ...["bind live", "bind ended", "bind stale", "bind waiting→called"],
  ...["fail waiting", "fail failed", "fail stale", "fail waiting→called"],
  ...["fail capacity waiting", "fail limited waiting", "fail refused failed", "fail rejected waiting"],
  ...["fail disrupted waiting", "fail answered waiting", "fail doubt waiting"],
  ...["resolve running", "resolve open", "resolve free", "sweep doubt→none"],
  ...["alias kept", "alias ended", "alias stale", "alias waiting→called", "alias kept by audit"],
  ...["end released", "end repeat", "end unknown", "end waiting→called"],
  ...["withdraw waiting→left", "reportOutage waiting→left", "reportOutage starting→left", "admit withdrawn"],
  "reportOutage starting→called",
  ...["clear waiting→removed", "clear called→removed", "end released elsewhere", "fail elsewhere"],
  ...["leave waiting→left", "leave called→left", "leave busy", "leave ended", "leave waiting→called"],
  ...[
    "sweep called→missed",
    "sweep starting→waiting",
    "sweep live→reclaimed",
    "sweep waiting→abandoned",
    "sweep waiting→called",
    "sweep owed",
    "audit asks",
  ],
  ...["end passes over", "sweep passes over"],
  ...["attach waiting", "attach called", "attach starting", "attach live", "attach ended"],
  ...["account withholds a slot", "account leaves a slot to another"],
  "stop",
]

const check = (played: Played): void => {
  if (played.violation !== undefined) assert.fail(report(played))
}

describe("the simulation", () => {
  it.skipIf(given !== undefined)(
    `keeps every invariant for ${STEPS} steps, through every state of a ticket`,
    { timeout: 600_000 },
    () => {
      const begun = performance.now()
      const seen = new Set<string>()
      let steps = 0
      let changes = 0
      let seed = 0
      while (steps < STEPS) {
        const played = play(planOf(++seed))
        check(played)
        steps += played.steps
        changes += played.changes
        for (const what of played.seen.keys()) seen.add(what)
      }
      const seconds = (performance.now() - begun) / 1000
      console.log(
        `${seed} histories, ${steps} steps, ${changes} of them changes, ${Math.round(steps / seconds)} steps/s`,
      )
      assert.deepStrictEqual(
        CORNERS.filter((corner) => !seen.has(corner)),
        [],
      )
    },
  )

  it.runIf(given !== undefined)(`keeps every invariant in the history ${given}`, { timeout: 600_000 }, () => {
    const played = play(planOf(Number(given)), { traced: true })
    console.log(played.trace.join("\n"))
    check(played)
  })

  it.each([
    ["page", "by the page alone", ["end released", "leave busy"]],
    ["none", "by nobody", ["sweep live→reclaimed"]],
  ] as const)("keeps every invariant with a platform whose ends are told %s (%s)", { timeout: 120_000 }, (...kind) => {
    const [signals, , corners] = kind
    const seen = new Set<string>()
    for (let seed = 1; seed <= 40; seed++) {
      const played = play(withSignals(planOf(seed), signals))
      check(played)
      for (const what of played.seen.keys()) seen.add(what)
    }
    assert.deepStrictEqual(
      corners.filter((corner) => !seen.has(corner)),
      [],
    )
    // of a call that nobody tells of, no end is known before the longest call has passed
    assert.strictEqual(seen.has("end released"), signals === "page")
  })

  it("keeps every invariant in a crowd larger than one step handles", { timeout: 120_000 }, () => {
    check(play(crowdOf(1)))
  })

  it("runs the same history again from the same seed", () => {
    for (const seed of [3, 77, 1_234]) {
      const course = () => play(planOf(seed), { traced: true }).trace
      assert.deepStrictEqual(course(), course())
    }
  })
})
