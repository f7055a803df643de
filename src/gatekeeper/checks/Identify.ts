/**
 * Who calls, where a signed token or the host says so. Then the limits count the subject, over whatever address, and the signed variables
 * win over those of the page.
 *
 * A refused token costs one verification: no lookup of an address, nothing of a limit, no place.
 */
import { Clock, Context, Effect, Layer, Result, Schedule, Schema, SchemaIssue } from "effect"
import { RETENTION_MILLIS } from "../../fifo-queue/rules/shared/line.ts"
import { IdentityTokens, type TokenUse, type VerifiedToken } from "../../identity-tokens/IdentityTokens.ts"
import * as tokenMetrics from "../../identity-tokens/metrics.ts"
import { limitKey } from "../../lib/ip/address.ts"
import { countedEachMinute } from "../../lib/throttled-log.ts"
import { makeWindows } from "../../lib/windows.ts"
import { Identity, NAME_METADATA, SUBJECT_METADATA } from "../../protocol/identity.ts"
import {
  type IdentityReason,
  type IdentityRefused,
  type IdentityRequired,
  type IdentityUnavailable,
  type InvalidRequest,
  identityRefused,
  identityRequired,
  identityUnavailable,
  type StoreUnavailable,
} from "../../protocol/refusals.ts"
import { MAX_VARIABLES, type SessionConfig } from "../../protocol/request.ts"
import type { Queued, Started } from "../../protocol/session-answers.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { Campaigns, Secrets } from "../Campaigns.ts"
import { Tickets } from "../calls/Tickets.ts"
import type { Caller } from "../Gatekeeper.ts"
import { inSpan } from "../spans.ts"
import { invalid, type Validated } from "./Validate.ts"

/** A request of a known caller. */
export interface Identified extends Validated {
  readonly identity: Identity
  /** the session that the token has started before; it is answered again */
  readonly existing?: Started
  /** the id of the new ticket, for which the token is used */
  readonly newTicket?: string
}

/** What a request has used, to be undone if it leads to no ticket. */
export interface Used {
  /** the token may be used again */
  undo: Effect.Effect<void> | undefined
}

type Refusal = InvalidRequest | IdentityRequired | IdentityRefused | IdentityUnavailable | StoreUnavailable | Queued

export class Identify extends Context.Service<
  Identify,
  /** Undefined for a caller of whom nothing is known but the address, where that suffices. `used` is told what this has used. */
  (validated: Validated, caller: Caller, used: Used) => Effect.Effect<Identified, Refusal> | undefined
>()("voicegate/gatekeeper/Identify") {}

/**
 * How long a repeated token waits for the ticket of the request before, which is on its way (ms), and how often it looks. As long as the
 * address of that request may be looked up.
 */
const WAIT_MILLIS = 3_000
const LOOK_MILLIS = 100
/**
 * How long such a request takes at most (ms): as long as that for a ticket that is lost, and as long again for the one of the request that uses
 * the token in its place. If the ticket changes again and again, the caller is told to ask later: the token is not used up.
 */
export const MOST_WAIT_MILLIS: number = 2 * WAIT_MILLIS
const ASK_AGAIN_SECONDS: number = WAIT_MILLIS / 1_000
/**
 * Until when a ticket that the queue does not know was never admitted (ms since the use of its token): one that was admitted is known until ten
 * minutes after its end. A minute is for clocks that differ, and for a ticket that is on its way.
 */
const LOST_MILLIS = RETENTION_MILLIS - 60_000

/** How often, and how many times, the store is asked again to forget the use of a token that has led to nothing (ms), and of how many at once. */
const UNUSE_AGAIN_MILLIS = 1_000
const UNUSE_TIMES = 600
const MAX_UNUSING = 1_000

/**
 * How many refused tokens of one address (IPv6: of one /64) an instance checks in a minute: a signature by P-521 costs 3 ms of CPU, and anyone
 * can send one. Those behind the same address wait too, until the minute is over.
 */
export const REFUSED_PER_MINUTE = 60
const MINUTE_MILLIS = 60_000
/** The number of addresses that are counted at once. */
const MAX_ADDRESSES = 10_000

const decodeIdentity = Schema.decodeUnknownResult(Identity, { errors: "all", onExcessProperty: "error" })
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** What a host says of its caller. A mistake in it is the host's, so the error names it. */
const givenIdentity = (given: unknown): Result.Result<Identity, InvalidRequest> =>
  Result.mapError(decodeIdentity(given), (error) =>
    invalid(
      "invalid_request",
      formatIssue(error.issue).issues.map(({ message, path = [] }) => ({
        field: ["identity", ...path.map(String)].join("."),
        message,
      })),
    ),
  )

const tooMany = (field: string, signed: number): InvalidRequest =>
  invalid("invalid_request", [
    { field, message: `Expected at most ${MAX_VARIABLES} entries together with ${signed} of the caller's identity` },
  ])

/** The configuration with what is known of the caller, which the page cannot change. */
const configOf = (
  config: SessionConfig,
  { name, subject, variables = {} }: Identity,
): Result.Result<SessionConfig, InvalidRequest> => {
  const known = { [SUBJECT_METADATA]: subject, ...(name === undefined ? {} : { [NAME_METADATA]: name }) }
  const dynamicVariables = { ...config.dynamicVariables, ...variables }
  const metadata = { ...config.metadata, ...known }
  if (Object.keys(dynamicVariables).length > MAX_VARIABLES) {
    return Result.fail(tooMany("dynamicVariables", Object.keys(variables).length))
  }
  if (Object.keys(metadata).length > MAX_VARIABLES) {
    return Result.fail(tooMany("metadata", Object.keys(known).length))
  }
  return Result.succeed({ ...config, dynamicVariables, metadata })
}

export const layer: Layer.Layer<Identify, never, Campaigns | IdentityTokens | Settings | Tickets> = Layer.effect(
  Identify,
  Effect.gen(function* () {
    const { Identity: settings } = yield* Settings
    const { retake, unuse, use, verify } = yield* IdentityTokens
    const { lookUp, withdraw } = yield* Tickets
    const campaigns = yield* Campaigns
    const secret = yield* Secrets
    const context = yield* Effect.context<never>()
    const note = yield* countedEachMinute<IdentityReason, undefined>({
      first: (reason) =>
        Effect.logInfo(`Refused a token: ${reason}. Further ones are counted, and the count is logged once a minute.`),
      more: (reason, total) => Effect.logInfo(`Refused ${total} more tokens in the last minute: ${reason}.`),
    })
    const clock = yield* Clock.Clock
    const monotonicMillis = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const refusedBy = makeWindows(MINUTE_MILLIS, MAX_ADDRESSES)
    const noted = (address: string, error: Refusal): Effect.Effect<void> => {
      if (error._tag !== "IdentityRefused") return Effect.void
      refusedBy.add(limitKey(address), clock.currentTimeMillisUnsafe())
      tokenMetrics.refused[error.reason].updateUnsafe(1, context)
      return note(error.reason, undefined) ?? Effect.void
    }

    const scope = yield* Effect.scope
    let unusing = 0
    /** The token may be used again. If the store cannot be asked now, it is asked later: its ticket is withdrawn then too. */
    const undoing = (token: VerifiedToken, use: TokenUse): Effect.Effect<void> =>
      Effect.catch(unuse(token, use), () => {
        if (unusing >= MAX_UNUSING) return Effect.void
        unusing++
        return unuse(token, use).pipe(
          Effect.retry({ schedule: Schedule.spaced(UNUSE_AGAIN_MILLIS), times: UNUSE_TIMES }),
          Effect.ignore,
          Effect.ensuring(Effect.sync(() => unusing--)),
          Effect.forkIn(scope),
          Effect.asVoid,
        )
      })

    const identified = (validated: Validated, identity: Identity): Result.Result<Identified, InvalidRequest> =>
      Result.map(configOf(validated.config, identity), (config) => ({ ...validated, config, identity }))

    const isFor = ({ campaigns: named }: VerifiedToken, campaign: Campaign): boolean =>
      named === undefined || named.some((each) => each !== "" && campaigns.find(each) === campaign)

    /**
     * The token is used for a new ticket; one that was used already answers its ticket, while that lives. One whose ticket was never admitted is used
     * again: its gate has died, or the store has failed or answered nobody. That ticket is withdrawn, so that it is not admitted later.
     */
    const useFor = (
      known: Identified,
      token: VerifiedToken,
      address: string,
      used: Used,
    ): Effect.Effect<Identified, IdentityRefused | IdentityUnavailable | StoreUnavailable | Queued> =>
      Effect.gen(function* () {
        const began = monotonicMillis()
        const newTicket = campaigns.newTicket(known.campaign, secret())
        // whoever interrupts the request does not lose the token
        const noting = (using: ReturnType<typeof use>) =>
          Effect.uninterruptible(
            Effect.tap(using, (use) =>
              Effect.sync(() => {
                if (use.own) used.undo = undoing(token, use)
              }),
            ),
          )
        let last: TokenUse = yield* noting(use(token, newTicket))
        while (!last.own) {
          const other = last
          // a ticket of another campaign is no answer: the page would take it for its new place, and leave it as the old one
          if (campaigns.ofTicket(other.ticket) !== known.campaign)
            return yield* Effect.fail(identityRefused("replayed"))
          const existing = yield* lookUp(other.ticket)
          if (existing !== "over" && existing !== "unknown") return { ...known, existing }
          if (monotonicMillis() - began >= MOST_WAIT_MILLIS) {
            return yield* Effect.fail(identityUnavailable(ASK_AGAIN_SECONDS))
          }
          if (existing === "over") {
            // one that was lost is withdrawn by the request that uses the token again
            last = yield* noting(use(token, newTicket))
            if (last.ticket === other.ticket) return yield* Effect.fail(identityRefused("replayed"))
          } else if (other.ageMillis >= WAIT_MILLIS) {
            if (other.ageMillis >= LOST_MILLIS) return yield* Effect.fail(identityRefused("replayed"))
            last = yield* noting(retake(token, newTicket, other))
            if (last.own) yield* withdraw(other.ticket, address)
          } else {
            // the other request may still be on its way to its ticket
            yield* Effect.sleep(LOOK_MILLIS)
            last = yield* noting(use(token, newTicket))
          }
        }
        return { ...known, newTicket }
      })

    const byToken = (
      verify: NonNullable<IdentityTokens["Service"]["verify"]>,
      token: string,
      address: string,
      validated: Validated,
      used: Used,
      identifiedBy: Caller["identified"],
    ): Effect.Effect<Identified, Refusal> =>
      Effect.gen(function* () {
        const now = clock.currentTimeMillisUnsafe()
        const key = limitKey(address)
        if (refusedBy.used(key, now) >= REFUSED_PER_MINUTE) {
          const seconds = Math.ceil((refusedBy.endsAt(key, now) - now) / 1000)
          return yield* Effect.fail(identityUnavailable(Math.max(1, seconds)))
        }
        const verified = yield* verify(token)
        identifiedBy?.(verified.identity.subject)
        if (!isFor(verified, validated.campaign)) return yield* Effect.fail(identityRefused("campaign"))
        const known = yield* Effect.fromResult(identified(validated, verified.identity))
        return settings.SingleUse ? yield* useFor(known, verified, address, used) : known
      }).pipe(
        Effect.tapError((error) => noted(address, error)),
        inSpan("Gatekeeper.identify"),
      )

    return (validated, { address, identified: identifiedBy, identity, token }, used) => {
      if (identity !== undefined) {
        return Effect.fromResult(Result.flatMap(givenIdentity(identity), (given) => identified(validated, given)))
      }
      const { campaign, token: ofBody = token } = validated
      if (verify !== undefined && ofBody !== undefined && ofBody !== "")
        return byToken(verify, ofBody, address, validated, used, identifiedBy)
      return (campaign.IdentityRequired ?? settings.Required) ? Effect.fail(identityRequired()) : undefined
    }
  }),
)
