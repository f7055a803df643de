/** Checks that heavy callers stayed within their hourly limit: granted requests minus refunds. */
import { HOURLY } from "./plan.ts"
import type { World } from "./world.ts"

const HOUR = 3_600_000
/** Answers arrive slightly after they were decided. */
const SLACK_MILLIS = 5_000

/** Checks every hour that starts with a granted request. */
export const checkLimits = ({ grants, ledger, platform }: World): void => {
  // a failed start is refunded
  const counted = grants.filter(({ caller }) => !platform.failed(caller.id))
  for (const [address, granted] of Map.groupBy(counted, ({ caller }) => caller.address)) {
    const highest = Math.max(
      ...granted.map(({ at }) => granted.filter((each) => each.at >= at && each.at < at + HOUR - SLACK_MILLIS).length),
    )
    ledger.count("heavy callers checked")
    if (highest > HOURLY) ledger.problem("limits exceeded", `${address} was granted ${highest} calls in an hour`)
  }
}
