/** Plays histories on a real server too, where each must take exactly the course that it takes in memory. */
import { deepStrictEqual } from "node:assert/strict"
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

/** Plays a history on a server, for as long as the scope lasts; dies where its course differs. */
export const onRedis = Effect.gen(function* () {
  const server = yield* redisServer()
  const store = Context.get(yield* Layer.build(redisStore(() => server.url)), Store)
  return (seed: number): Effect.Effect<Played> =>
    Effect.scoped(
      Effect.flatMap(Scope.Scope, (scope) =>
        Effect.promise(async () => {
          await server.command("FLUSHALL")
          const plan = planOf(seed)
          const played = await playAsync(plan, { base: await redisBase(store, scope), traced: true })
          const inMemory = play(plan, { traced: true, planted: asOnTheServer })
          deepStrictEqual(played.trace, inMemory.trace, `seed ${seed}: another course on Redis`)
          return played
        }),
      ),
    )
})
