/**
 * Both stores are given random histories, as in `differential.test.ts`, until one is answered differently:
 *
 *     npm run verify -- contract [--seed N] [--minutes M] [--histories N] [--planted]
 *
 * A round is a run of that file with 3,000 histories of the queue, of accounts and of the limiter each, from the next seeds on, and of `budgets.test.ts`
 * with 3,000 calls; with `--histories` of the first alone, with so many. By default there is one round. `--planted` is a run of
 * `differential-faults.test.ts` in which each wrong rule is looked for in all of its histories.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeRounds, millisOf, SHARED_FLAGS, seedOf } from "../harness/long-run.ts"

const root = join(import.meta.dirname, "../..")

const { values } = parseArgs({
  options: {
    ...SHARED_FLAGS,
    histories: { type: "string" },
    planted: { type: "boolean", default: false },
  },
})
const histories = values.histories ?? "3000"
const found = (file: string, seed: number): boolean =>
  spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "system", `test/contract/${file}`],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, TEST_SEED: String(seed), TEST_HISTORIES: histories, TEST_BUDGET_CALLS: histories },
    },
  ).status !== 0

if (values.planted) process.exit(found("differential-faults.test.ts", 1) ? 1 : 0)
const files = ["differential.test.ts", ...(values.histories === undefined ? ["budgets.test.ts"] : [])]
const another = makeRounds(millisOf(values.minutes))
for (let seed = seedOf(values.seed); another() && process.exitCode === undefined; seed += Number(histories)) {
  if (files.some((file) => found(file, seed))) process.exitCode = 1
}
