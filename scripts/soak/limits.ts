/** Whether heavy callers were kept to their hour: what they were granted, without what they were given back. */
import { HOURLY } from "./plan.ts"
import type { World } from "./world.ts"

const HOUR = 3_600_000
/** Answers arrive a little after they were decided. */
const SLACK_MILLIS = 5_000

/** Counts in every hour that begins with a granted request. */
export const checkLimits = ({ grants, ledger, platform }: World): void => {
  // a spoilt start gives the caller's budgets back
  const kept = grants.filter(({ caller }) => !platform.failed(caller.id))
  for (const [address, theirs] of Map.groupBy(kept, ({ caller }) => caller.address)) {
    const most = Math.max(
      ...theirs.map(({ at }) => theirs.filter((each) => each.at >= at && each.at < at + HOUR - SLACK_MILLIS).length),
    )
    ledger.count("heavy callers watched")
    if (most > HOURLY) ledger.problem("limits exceeded", `${address} was granted ${most} calls in an hour`)
  }
}
