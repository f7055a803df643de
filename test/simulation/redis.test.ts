/**
 * The same histories on a real server: every step is checked there too, and each history must take exactly the same
 * course. `SIMULATION_HISTORIES=n` runs more of them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Scope } from "effect"
import { Store } from "../../src/store/Store.ts"
import { redisServer } from "../harness/redis.ts"
import { redisStore } from "../harness/stores.ts"
import { redisBase } from "./base.ts"
import type { Name } from "./did.ts"
import { planOf } from "./generate.ts"
import { type Played, play, playAsync } from "./play.ts"
import { everywhere, tampered } from "./tampering.ts"
import type { Planted } from "./world.ts"

/** The server's clock is far behind a history's, so that no step seems delayed there. In memory it must not seem so either. */
const timeless = (name: Name) => tampered(name, () => ({ time: () => 0 }))
const asOnTheServer: Planted = {
  name: "the clock of the store is far behind",
  rule: (rule) => timeless("reportOutage")(everywhere(timeless)(rule)),
}

const HISTORIES = Number(process.env.SIMULATION_HISTORIES ?? 12)
/** The first ones, and one whose gates die while two campaigns share an account with reserved slots. */
const SEEDS = [...Array.from({ length: HISTORIES }, (_, n) => n + 1), 139]

describe("the simulation on Redis", () => {
  it.live(
    `keeps every invariant, and ${SEEDS.length} histories take the same course as in memory`,
    () =>
      Effect.gen(function* () {
        const server = yield* redisServer()
        const store = Context.get(yield* Layer.build(redisStore(() => server.url)), Store)
        let steps = 0
        for (const seed of SEEDS) {
          const plan = planOf(seed)
          const played: Played = yield* Effect.scoped(
            Effect.flatMap(Scope.Scope, (scope) =>
              Effect.promise(async () => {
                await server.command("FLUSHALL")
                return playAsync(plan, { base: await redisBase(store, scope), traced: true })
              }),
            ),
          )
          assert.isUndefined(played.violation, `seed ${seed}`)
          assert.deepStrictEqual(played.trace, play(plan, { traced: true, planted: asOnTheServer }).trace)
          steps += played.steps
        }
        console.log(`${SEEDS.length} histories, ${steps} steps on Redis`)
      }),
    { timeout: 900_000 },
  )
})
