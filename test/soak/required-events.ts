/** Events that a run must have seen; otherwise it did not test them. */
import type { Ledger } from "./ledger.ts"
import type { Measured } from "./measured.ts"
import type { Figure } from "./verdict.ts"

const REQUIRED: ReadonlyArray<string> = [
  "429 rate_limited",
  "403 blocked",
  "503 queue_full",
  "moved to the other gate",
  "left",
  "vanished",
  "hung up",
  "lines: socket",
  "lines: events",
  "lines: poll",
  "lines: hub",
  "tickets abandoned",
  "tickets missed",
  "tickets left",
  "tickets failed",
  "tickets ended",
  "ends repeated",
  "ends late",
  "platform: capacity",
  "platform: unavailable",
  "platform: ghost",
  "platform: early",
]
/** Rare events need a run of at least this many minutes. */
const RARE_AFTER_MINUTES = 8

export const missingEvents = ({ after }: Measured, ledger: Ledger): ReadonlyArray<Figure> =>
  after.minute < RARE_AFTER_MINUTES
    ? []
    : REQUIRED.filter((name) => ledger.of(name) === 0).map((name) => ({
        name: `never seen: ${name}`,
        before: 0,
        after: 0,
        allowed: { kind: "at least", limit: 1 },
      }))
