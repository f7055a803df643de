/**
 * Returns live sessions to check with the platform, because a webhook may be lost. One gate at a time claims the check.
 */
import type { Sessions } from "../answers.ts"
import { MAX_PER_STEP } from "./shared/expiry.ts"
import { loadHolder } from "./shared/load.ts"
import { meta, type Step } from "./shared/step.ts"

/** One id of each session of at least this age. Empty when another gate has claimed the check. */
export const audit = (
  s: Step,
  { ageMillis, claimMillis }: { readonly ageMillis: number; readonly claimMillis: number },
): Sessions => {
  if (meta(s, "auditUntil") > s.now) return {}
  s.db.hset(s.keys.meta, "auditUntil", `${s.now + claimMillis}`)
  const found: Array<string> = []
  for (const id of s.db.zrange(s.keys.leases, 0, MAX_PER_STEP)) {
    const holder = loadHolder(s, id)
    if (holder !== undefined && holder.state === "live" && (holder.since ?? 0) <= s.now - ageMillis) {
      const session = (holder.sessions ?? [])[0]
      if (session !== undefined) found.push(session)
    }
  }
  return found.length === 0 ? {} : { sessions: found }
}
