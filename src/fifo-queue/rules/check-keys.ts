/**
 * Whether a rule could use every key of the campaign. Redis refuses each command on a key of another type, and does not undo what the rule
 * has written before.
 */

import { numberOf, textOf } from "../../store/rules/native.ts"
import type { QueueKeys } from "./shared/keys.ts"
import type { Step } from "./shared/step.ts"

/** The keys by their type; every key of a campaign is in one of the three. */
export const HASHES: ReadonlyArray<keyof QueueKeys> = ["meta", "tickets", "data", "sessions", "networks", "account"]
export const SETS: ReadonlyArray<keyof QueueKeys> = [
  "waiting",
  "presence",
  "leases",
  "endedSessions",
  "forget",
  "settlements",
  "passed",
  "parked",
  "gates",
  "quarantine",
  "auditLog",
  "ending",
  "near",
  "crowds",
  "unopened",
  "holders",
  "changes",
  "events",
  "limits",
  "charges",
  "unpaid",
]
export const TEXTS: ReadonlyArray<keyof QueueKeys> = ["steps"]
/** Fields of `meta` that rules count with, and that no rule can rebuild. */
const COUNTERS: ReadonlyArray<string> = [
  "seq",
  "lease",
  "started",
  "auditLog",
  "quarantined",
  "backoffs",
  "failing",
  "changed",
  "events",
]

/** Reads each key in the way of its type; fails when one has another, before the step has written anything. */
export const readKeys = (s: Step): void => {
  for (const name of HASHES) s.db.hget(s.keys[name], "")
  for (const name of SETS) s.db.zcard(s.keys[name])
  for (const name of TEXTS) s.db.get(s.keys[name])
}

export interface KeyCheck {
  readonly key: keyof QueueKeys
}

/** Reads this key; fails when it has another type. Returns the name of a counter in it that is not a whole number; empty if there is none. */
export const checkKey = (s: Step, { key }: KeyCheck): string => {
  if (SETS.includes(key)) s.db.zcard(s.keys[key])
  if (TEXTS.includes(key)) s.db.get(s.keys[key])
  if (!HASHES.includes(key)) return ""
  s.db.hget(s.keys[key], "")
  if (key !== "meta") return ""
  for (const field of COUNTERS) {
    const stored = s.db.hget(s.keys.meta, field)
    if (stored !== undefined && textOf(numberOf(stored)) !== stored) return field
  }
  return ""
}
