/**
 * The long runs of the suites whose short runs are part of `npm test`:
 *
 *     npm run verify                                        every suite, one after the other: some four hours
 *     npm run verify -- SUITE [--seed N] [--minutes M] …    one suite; what else it takes is said in test/SUITE/long-run.ts
 *
 * Each begins with a seed of its own, which it prints. Exit code 1 when a suite found something.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

/** Each has a `long-run.ts` in its folder of `test`; the shortest first. */
const SUITES = ["e2e", "abuse", "contract", "simulation", "outages", "fuzz", "chaos", "soak"]
/** What a run of all gives a suite besides its own defaults. */
const ALSO: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>> = {
  contract: [[], ["--planted"]],
  simulation: [[], ["--signals", "page"], ["--signals", "none"], ["--redis"], ["--planted"]],
  chaos: [[], ["--planted"]],
}

/** Whether it found nothing. */
const run = (suite: string, args: ReadonlyArray<string>): boolean => {
  console.error(`\nverify ${[suite, ...args].join(" ")}`)
  const file = join(import.meta.dirname, "../test", suite, "long-run.ts")
  return spawnSync(process.execPath, [file, ...args], { stdio: "inherit" }).status === 0
}

const [suite, ...args] = process.argv.slice(2)
if (suite !== undefined && !SUITES.includes(suite)) {
  console.error(`Expected one of these suites: ${SUITES.join(", ")}. Found: ${suite}`)
  process.exit(2)
}
const found =
  suite === undefined
    ? SUITES.filter((name) => (ALSO[name] ?? [[]]).map((more) => run(name, more)).includes(false))
    : run(suite, args)
      ? []
      : [suite]
if (found.length > 0) {
  console.error(`\nfound something: ${found.join(", ")}`)
  process.exitCode = 1
}
