/** Limits and queue on Redis with a key prefix: what they write, and what instances tell each other. */
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { type RedisServer, startRedis } from "../../scripts/harness/redis.ts"
import { redisStore } from "../../scripts/harness/stores.ts"
import { giveBack } from "./limiter/give-back.ts"
import { limiterTest } from "./limiter/harness.ts"
import { windows } from "./limiter/windows.ts"
import { admission } from "./queue/admission.ts"
import { calling } from "./queue/calling.ts"
import { queueTest } from "./queue/harness.ts"
import { operator } from "./queue/operator.ts"
import { registry } from "./queue/registry.ts"
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
  })
  describe("the queue", () => {
    const test = queueTest(store)
    admission(test)
    calling(test)
    sessions(test)
    signals(test)
    operator(test)
    registry(store)
  })
})
