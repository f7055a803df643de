/** All scenarios, in the order of the table. */
import { budgetWaits, budgetWaitsCluster, budgetWaitsSentinel } from "./scenarios/budget-waits.ts"
import { budgetsCluster, budgetsKilled, budgetsSentinel } from "./scenarios/budgets.ts"
import { campaignRemoved } from "./scenarios/campaign-removed.ts"
import { clockSteps } from "./scenarios/clock-steps.ts"
import { clusterFailover } from "./scenarios/cluster.ts"
import { crowdFrozen, crowdFrozenLong, crowdKilled, crowdKilledTwice } from "./scenarios/crowd-gone.ts"
import { cutCallers, cutPlatform, cutRedis } from "./scenarios/cut-sockets.ts"
import { endsByNone, endsByPage } from "./scenarios/end-signals.ts"
import { endTwice } from "./scenarios/end-twice.ts"
import { gateFrozen, gateSuspended } from "./scenarios/gate-frozen.ts"
import { gateKilled } from "./scenarios/gate-killed.ts"
import { gateStopped } from "./scenarios/gate-stopped.ts"
import { hours, hoursCluster, hoursSentinel } from "./scenarios/hours.ts"
import { ownBudgetWaits, ownBudgetWaitsCluster, ownBudgetWaitsSentinel } from "./scenarios/own-budget-waits.ts"
import { platformHangs, platformRefuses, platformUntold } from "./scenarios/platform-outage.ts"
import { reconnect } from "./scenarios/reconnect.ts"
import { redisEmptied } from "./scenarios/redis-emptied.ts"
import { redisAlways, redisEverysec, redisPowerLoss } from "./scenarios/redis-persistent.ts"
import { junkRecords, redisDemoted, redisFull } from "./scenarios/redis-refuses.ts"
import { redisStopped } from "./scenarios/redis-stopped.ts"
import { sentinelFailover, sentinelPlanned } from "./scenarios/sentinel.ts"
import { silentSubscription } from "./scenarios/silent-subscription.ts"
import { slowReaders } from "./scenarios/slow-readers.ts"
import { swallowedPath } from "./scenarios/swallowed-path.ts"
import type { Scenario } from "./support/scenario.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  gateKilled,
  gateStopped,
  redisAlways,
  redisEverysec,
  redisPowerLoss,
  redisEmptied,
  redisFull,
  redisDemoted,
  junkRecords,
  sentinelFailover,
  sentinelPlanned,
  clusterFailover,
  gateFrozen,
  gateSuspended,
  clockSteps,
  swallowedPath,
  silentSubscription,
  cutRedis,
  cutPlatform,
  cutCallers,
  platformRefuses,
  platformHangs,
  platformUntold,
  redisStopped,
  endTwice,
  endsByPage,
  endsByNone,
  campaignRemoved,
  slowReaders,
  reconnect,
  budgetsKilled,
  budgetsSentinel,
  budgetsCluster,
  budgetWaits,
  budgetWaitsSentinel,
  budgetWaitsCluster,
  hours,
  hoursSentinel,
  hoursCluster,
  ownBudgetWaits,
  ownBudgetWaitsSentinel,
  ownBudgetWaitsCluster,
  crowdKilled,
  crowdKilledTwice,
  crowdFrozen,
  crowdFrozenLong,
]
