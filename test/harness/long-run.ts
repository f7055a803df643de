/** What the long runs of all suites take: where random choices begin, and how long they may go on. */

/** Whether tests that have a larger size, or are for a release only, run so (`npm run verify -- e2e`). */
export const AT_FULL_SIZE: boolean = process.env.TEST_SIZE === "full"

/** The options for `parseArgs`; a suite adds its own. */
export const SHARED_FLAGS = { seed: { type: "string" }, minutes: { type: "string" } } as const

/** Exits with an error about the arguments. */
export const refuseArguments = (why: string): never => {
  console.error(why)
  process.exit(2)
}

/** A whole number from 0; without one, another each time. Printed, so that the run can be repeated. */
export const seedOf = (given: string | undefined): number => {
  const seed = given === undefined ? Math.floor(Math.random() * 1_000_000) : Number(given)
  if (!Number.isSafeInteger(seed) || seed < 0)
    refuseArguments(`--seed: Expected a whole number from 0. Found: ${given}`)
  console.error(`seed ${seed}`)
  return seed
}

/** Minutes as milliseconds; undefined where nothing was said. */
export const millisOf = (given: string | undefined): number | undefined => {
  if (given === undefined) return undefined
  const minutes = Number(given)
  if (!(minutes > 0)) refuseArguments(`--minutes: Expected a number above 0. Found: ${given}`)
  return minutes * 60_000
}

/** Whether a run that began when this was made has time for another round: always for the first, and until then without a bound only once. */
export const makeRounds = (millis: number | undefined): (() => boolean) => {
  const began = performance.now()
  let rounds = 0
  return () => rounds++ === 0 || (millis !== undefined && performance.now() - began < millis)
}
