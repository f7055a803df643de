/**
 * The news of a ticket whose start was under way when its connection came. The start is answered to who asked for it, which
 * may have been a page that was reloaded meanwhile, so the new connection looks until there is something to tell.
 */
import { Effect } from "effect"
import { START_LEASE_MILLIS } from "../rules/queue/admit.ts"
import type { PushEvent, StoreUnavailable, TicketUnknown } from "../Session.ts"

const LOOK_MILLIS = 500
/** By then the start is over, one way or another. */
const LOOKS = (2 * START_LEASE_MILLIS) / LOOK_MILLIS

/** Tells what `attach` answers as soon as that is something, unless the connection is gone by then. */
export const awaitStart = (
  attach: Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>,
  gone: () => boolean,
  tell: (event: PushEvent) => void,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let look = 0; look < LOOKS; look++) {
      yield* Effect.sleep(LOOK_MILLIS)
      if (gone()) return
      const event = yield* Effect.catchTag(attach, "StoreUnavailable", () => Effect.undefined)
      if (event === undefined) continue
      if (!gone()) tell(event)
      return
    }
  }).pipe(Effect.catchTag("TicketUnknown", () => Effect.void))
