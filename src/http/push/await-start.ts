/**
 * Sends the outcome of a start that was in progress when a connection was opened. The start is answered to the connection that
 * requested it, which may be a page that was reloaded since. So the new connection polls until there is an event.
 */

import { Effect } from "effect"
import { START_LEASE_MILLIS } from "../../fifo-queue/bounds.ts"
import type { PushEvent } from "../../protocol/events.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import type { TicketUnknown } from "../../protocol/ticket.ts"
import type { Opened } from "../../push-channel/PushChannel.ts"

const POLL_MILLIS = 500
/** By then every start has ended. */
const MAX_POLLS = (2 * START_LEASE_MILLIS) / POLL_MILLIS

/** Sends the first event that `attach` returns, unless the connection is closed by then. */
export const awaitStart = (
  attach: Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>,
  isClosed: () => boolean,
  opened: Opened,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let poll = 0; poll < MAX_POLLS; poll++) {
      yield* Effect.sleep(POLL_MILLIS)
      if (isClosed()) return
      const event = yield* Effect.catchTag(attach, "StoreUnavailable", () => Effect.undefined)
      if (event === undefined) continue
      if (!isClosed()) opened.send(event)
      return
    }
  }).pipe(Effect.catchTag("TicketUnknown", () => Effect.void))
