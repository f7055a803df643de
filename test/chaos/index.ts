/** All scenarios, in the order of the table. */
import { gateKilled } from "./scenarios/gate-killed.ts"
import { redisAlways, redisEverysec, redisPowerLoss } from "./scenarios/redis-persistent.ts"
import type { Scenario } from "./support/scenario.ts"

export const scenarios: ReadonlyArray<Scenario> = [gateKilled, redisAlways, redisEverysec, redisPowerLoss]
