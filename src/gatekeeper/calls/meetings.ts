/**
 * The meetings of sessions that a caller may leave and open again, such as a room. A vendor tells the length of each meeting. It is the
 * length of the call only if there was no other, which all gates on one store know.
 */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"
import { runPlain } from "../../store/rules/run.ts"
import type { Store } from "../../store/Store.ts"
import { noteMeeting } from "./rules/meetings.ts"

const noteRule = ruleOf("meetings.note", runPlain(noteMeeting), Schema.Boolean)

/** How long it is known, from the first meeting on and from the second (ms): longer than a call. */
const LIFETIME_MILLIS = 48 * 3_600_000

/** Different vendors may have sessions of the same id. */
const keyOf = (platform: string, session: string): string =>
  `vg:meetings:${createHash("sha256")
    .update(JSON.stringify([platform, session]))
    .digest("base64url")
    .slice(0, 32)}`

/** Notes a meeting of a session. True if no other of the session is known. */
export type IsOnlyMeeting = (
  platform: string,
  session: string,
  meeting: string,
) => Effect.Effect<boolean, StoreUnavailable>

export const makeIsOnlyMeeting =
  (store: Store["Service"]): IsOnlyMeeting =>
  (platform, session, meeting) =>
    Effect.flatMap(store.now, (now) =>
      store.run(noteRule, {
        keys: [keyOf(platform, session)],
        now,
        context: NO_CONTEXT,
        call: { meeting, lifetime: LIFETIME_MILLIS },
      }),
    )
