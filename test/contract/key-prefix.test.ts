/** Limits and queue on Redis with a key prefix: what they write, and what instances tell each other. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { layer as limiterLayer } from "../../src/rate-limiter/layer.ts"
import { RateLimiter } from "../../src/rate-limiter/RateLimiter.ts"
import { Store } from "../../src/store/Store.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { redisStore } from "../harness/stores.ts"
import { giveBack } from "./limiter/give-back.ts"
import { limiterTest, limitsLayer } from "./limiter/harness.ts"
import { windows } from "./limiter/windows.ts"
import { admission } from "./queue/admission.ts"
import { calling } from "./queue/calling.ts"
import { queueTest } from "./queue/harness.ts"
import { instances } from "./queue/instances.ts"
import { operator } from "./queue/operator.ts"
import { sessions } from "./queue/sessions.ts"
import { signals } from "./queue/signals.ts"

describe("on Redis with a key prefix", () => {
  let server: RedisServer | undefined
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.dispose())
  const store = redisStore(() => `${server?.url ?? ""}?keyPrefix=app:`)
  describe("the limits", () => {
    const test = limiterTest(store)
    windows(test, store)
    giveBack(test)
    it.effect("forget a refusal when another instance gives a unit back", () =>
      Effect.gen(function* () {
        const shared = Layer.succeed(Store, yield* Store)
        const instance = Effect.map(
          Layer.build(
            Layer.fresh(limiterLayer).pipe(
              Layer.provide(limitsLayer({ hourly: 1, daily: 0, concurrent: 0 })),
              Layer.provide(shared),
            ),
          ),
          (built) => Context.get(built, RateLimiter),
        )
        const [here, there] = [yield* instance, yield* instance]
        yield* there.take("caller", "a")
        yield* Effect.flip(here.take("caller", "b"))
        yield* there.refund("caller", "a")
        // the test's time stands still, so only the message ends the refusal
        yield* Effect.promise(() =>
          eventually("the message", () => Effect.runPromise(Effect.isSuccess(here.take("caller", "c")))),
        )
      }).pipe(Effect.scoped, Effect.provide(store)),
    )
  })
  describe("the queue", () => {
    const test = queueTest(store)
    admission(test)
    calling(test)
    sessions(test)
    signals(test)
    operator(test)
    instances(store)
  })
})
