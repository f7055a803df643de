/**
 * A short run of `test/fuzz/long-run.ts`: the built gate and the built platform under generated requests, while some clients take their
 * time. Which requests, the commit decides (`test/harness/seed.ts`); `npm run verify -- fuzz` sends more.
 */
import { assert, describe, it } from "@effect/vitest"
import { describe as inWords } from "../fuzz/describe.ts"
import { openPatient } from "../fuzz/patient.ts"
import { run } from "../fuzz/run.ts"
import { eventually } from "../harness/process.ts"
import { SEED } from "../harness/seed.ts"

const REQUESTS = 3_000

/** They are cut after ten seconds; a busy machine needs more. */
const SLOW = ["silence", "headers, a letter a second", "a header a second"]
const CUT_MILLIS = 40_000

describe("the running gate and platform", () => {
  it("answer generated requests as documented, or refuse them; and close slow connections", {
    timeout: 600_000,
  }, async () => {
    const report = await run({
      requests: REQUESTS,
      seed: SEED,
      connections: 32,
      alongside: async ({ gate, platform }) => {
        const patients = [gate, platform].flatMap(({ port }) => SLOW.map((name) => openPatient(port, name)))
        try {
          await eventually(
            "slow clients are cut",
            () => patients.every(({ lasted }) => lasted() !== undefined),
            CUT_MILLIS,
          )
        } finally {
          for (const { dispose } of patients) dispose()
        }
      },
    })
    console.log(inWords(report))
    assert.deepStrictEqual(report.findings, [])
    assert.strictEqual(report.sent, REQUESTS)
    // as many were understood as were refused, so that it is not the door alone that was tried
    const good = [...report.byStatus].reduce((sum, [name, n]) => (/^\w+ (20|101)/.test(name) ? sum + n : sum), 0)
    assert.isAbove(good, REQUESTS / 5)
    assert.isAbove(report.answers, REQUESTS / 2)
  })
})
