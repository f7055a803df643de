/**
 * Where the random suites of `npm test` begin: each commit has a seed of its own, so that every commit tries histories that none before
 * has tried. `TEST_SEED=n` gives another, and repeats a run. Without git, as in an unpacked archive, it is always the same.
 */
import { execFileSync } from "node:child_process"

export const MOST_SEEDS = 1_000_000
const WITHOUT_COMMIT = 1

const ofCommit = (): number => {
  try {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: import.meta.dirname,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    })
    return Number.parseInt(commit.slice(0, 8), 16) % MOST_SEEDS
  } catch {
    return WITHOUT_COMMIT
  }
}

const given = process.env.TEST_SEED
export const SEED = given === undefined ? ofCommit() : Number(given)
if (!Number.isSafeInteger(SEED) || SEED < 0)
  throw new Error(`TEST_SEED: Expected a whole number from 0. Found: ${given}`)

/** So many seeds, from the first on. */
export const seeds = (count: number, first = SEED): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, n) => first + n)

/** A part of a list that another seed moves on, so that the commits take turns with all of it. */
export const rotating = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
  const from = SEED % all.length
  return [...all.slice(from), ...all.slice(0, from)].slice(0, count)
}
