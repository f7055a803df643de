/**
 * Both stores are given random histories, as in `differential.test.ts`, until one is answered differently:
 *
 *     npm run verify -- contract [--seed N] [--minutes M]
 *
 * A round is a run of that file with 3,000 histories of the queue, of accounts and of the limiter each, from the next seeds on. By default
 * there is one round.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeRounds, millisOf, SHARED_FLAGS, seedOf } from "../harness/long-run.ts"

const HISTORIES = 3_000
const root = join(import.meta.dirname, "../..")

const { values } = parseArgs({ options: SHARED_FLAGS })
const another = makeRounds(millisOf(values.minutes))
for (let seed = seedOf(values.seed); another() && process.exitCode === undefined; seed += HISTORIES) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "system", "test/contract/differential.test.ts"],
    {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, DIFFERENTIAL_SEED: String(seed), DIFFERENTIAL_HISTORIES: String(HISTORIES) },
    },
  )
  if (status !== 0) process.exitCode = 1
}
