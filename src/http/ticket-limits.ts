/**
 * How often one address may ask about tickets and open connections for them, each a minute (`Security.StatusPerMinute`). The limits are
 * separate, so that a client that polls too often can still start its call.
 */
import { Clock, Effect } from "effect"
import { currentSettings } from "../settings/current.ts"
import { type Answer, askedTooOften } from "./answer.ts"
import { localRateLimit } from "./local-rate-limit.ts"

/** Takes a unit of an address, and returns its refusal when it has none left. An unknown address is refused elsewhere. */
type Take = (address: string | undefined) => Answer | undefined

export interface TicketLimits {
  /** reads of a ticket's status */
  readonly status: Take
  /** actions on a ticket */
  readonly action: Take
  /** negotiations of the hub, since each writes a token for a minute to the store */
  readonly negotiation: Take
  /** connections to the hub, since each may write a browser's tickets for a day to the store */
  readonly hubConnection: Take
  /** Refuses addresses that have asked for too many unknown tickets. Push connections have their own limit besides. */
  readonly tooManyUnknown: Take
  /** Counts an answer about an unknown ticket; returns the answer. */
  readonly countUnknown: (address: string | undefined, answer: Answer | undefined) => Answer | undefined
}

/** Makes the limits of this process. */
export const makeTicketLimits = Effect.gen(function* () {
  const settings = yield* currentSettings
  const perMinute = (): number => settings().Security.StatusPerMinute
  const clock = yield* Clock.Clock
  const refusal = (seconds: number): Answer | undefined => (seconds === 0 ? undefined : askedTooOften(seconds))

  const makeLimit = Effect.map(
    localRateLimit(perMinute),
    (limit): Take =>
      (address) =>
        address === undefined ? undefined : refusal(limit.take(address, clock.currentTimeMillisUnsafe())),
  )
  const unknown = yield* localRateLimit(perMinute)

  const limits: TicketLimits = {
    status: yield* makeLimit,
    action: yield* makeLimit,
    negotiation: yield* makeLimit,
    hubConnection: yield* makeLimit,
    tooManyUnknown: (address) =>
      address === undefined ? undefined : refusal(unknown.retryAfter(address, clock.currentTimeMillisUnsafe())),
    countUnknown: (address, answer) => {
      if (answer?.outcome === "ticket_unknown" && address !== undefined) {
        unknown.take(address, clock.currentTimeMillisUnsafe())
      }
      return answer
    },
  }
  return limits
})
