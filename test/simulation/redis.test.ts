/** Some of the same histories on a real server: every step is checked there too, and each must take exactly the same course. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { seeds } from "../harness/seed.ts"
import { onRedis } from "./on-redis.ts"
import { report } from "./report.ts"

/** Its gates die while two campaigns share an account with reserved slots. */
const SHARED_ACCOUNT = 139
const SEEDS = [SHARED_ACCOUNT, ...seeds(1)]

describe("the simulation on Redis", () => {
  it.live(
    `keeps every invariant, and takes the same course as in memory: histories ${SEEDS.join(" and ")}`,
    () =>
      Effect.gen(function* () {
        const playOn = yield* onRedis
        for (const seed of SEEDS) {
          const played = yield* playOn(seed)
          if (played.violation !== undefined) assert.fail(report(played))
        }
      }),
    { timeout: 900_000 },
  )
})
