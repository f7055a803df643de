/**
 * Decides who a caller is and what a key may access. Every check is an effect whose failure names what is missing. Endpoints
 * declare their checks (`http/Authorization.ts`), and none checks by itself.
 */

import { Clock, Context, Effect, Layer, Schema, Semaphore } from "effect"
import { monotonicMillis } from "../../lib/age.ts"
import { limitKey } from "../../lib/ip/address.ts"
import { Businesses } from "../businesses/Businesses.ts"
import type { DatabaseUnavailable } from "../data/Database.ts"
import { type Business, type Principal, type Refused, refuse, type User } from "../model.ts"
import type { Permission } from "./ApiKey.ts"
import { ApiKeys } from "./ApiKeys.ts"
import * as Counted from "./Budgets.ts"
import { allowsAddress } from "./KeyAddresses.ts"
import { KeyCache, type Moment } from "./KeyCache.ts"
import { digestSecret, hasSecretForm } from "./KeySecret.ts"

/** The key has used up its budget. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  code: Schema.Literal("RATE_LIMIT_EXCEEDED"),
  message: Schema.String,
  retryAfterSeconds: Schema.Int,
}) {}

export class Access extends Context.Service<
  Access,
  {
    /**
     * The user and key of a secret; the same failure for every invalid secret. A mistyped one is refused without a database
     * query. A valid key works whatever else came from its address; one that is limited to addresses works only from those.
     *
     * @param address of the client; empty when unknown
     */
    readonly authenticate: (secret: string, address: string) => Effect.Effect<Principal, Refused | DatabaseUnavailable>
    readonly count: (
      caller: Principal,
      budget: Counted.BudgetName,
    ) => Effect.Effect<Counted.BudgetState, TooManyRequests>
    /** Fails for an empty list. */
    readonly permitted: (caller: Principal, anyOf: ReadonlyArray<Permission>) => Effect.Effect<void, Refused>
    /** A business of the key's user within the key's scope. */
    readonly business: (caller: Principal, id: string) => Effect.Effect<Business, Refused | DatabaseUnavailable>
    /** The businesses within the key's scope. */
    readonly businesses: (caller: Principal) => Effect.Effect<ReadonlyArray<Business>, DatabaseUnavailable>
    /** The user, when the key allows user management. */
    readonly userManagement: (caller: Principal) => Effect.Effect<User, Refused>
    /** The user, when the key is not restricted to some businesses. */
    readonly unrestricted: (caller: Principal) => Effect.Effect<User, Refused>
  }
>()("voicegate/platform/Access") {}

const quoteAll = (permissions: ReadonlyArray<Permission>, between: string): string =>
  permissions.map((each) => `"${each}"`).join(between)

const permissionMissing = (has: ReadonlyArray<Permission>, anyOf: ReadonlyArray<Permission>): string =>
  anyOf.length === 0
    ? "no key has the permission for this endpoint"
    : `this key needs the permission ${quoteAll(anyOf, " or ")}; it has ${quoteAll(has, ", ")}`

const keyInvalid = () => refuse("unauthenticated", "API_KEY_INVALID", "the API key is not valid")

export const layer = (limits: Counted.Limits): Layer.Layer<Access, never, ApiKeys | Businesses | KeyCache> =>
  Layer.effect(
    Access,
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const owned = yield* Businesses
      const cache = yield* KeyCache
      const budgets = yield* Counted.Budgets
      const guessLock = yield* Semaphore.make(1)

      const lookUpKey = Effect.fnUntraced(function* (digest: string, network: string, now: Moment) {
        const fresh = cache.fresh(digest, now)
        if (fresh !== undefined) return fresh
        const query = cache.startLookup()
        const lookup = apiKeys.lookUp(digest)
        const isGuess = budgets.isGuessing(network, now.wall) && !cache.known(digest)
        const found = yield* isGuess ? guessLock.withPermit(lookup) : lookup
        if (found === undefined) {
          cache.forget(digest)
          return undefined
        }
        query.store(digest, found, now)
        return found
      })

      const authenticate = Effect.fnUntraced(function* (secret: string, address: string) {
        const now = yield* Clock.currentTimeMillis
        // an IPv4 address, the /64 of IPv6, or the IPv4 address that an IPv6 address embeds
        const network = limitKey(address)
        const principal = hasSecretForm(secret)
          ? yield* lookUpKey(digestSecret(secret), network, { wall: now, monotonic: yield* monotonicMillis })
          : undefined
        if (principal === undefined || (principal.key.expiresAt !== null && principal.key.expiresAt <= now)) {
          const state = budgets.wrongKey(network, now)
          // Only for the last one of the budget, so at most one line per minute and address.
          if (state.allowed && state.remaining === 0) {
            yield* Effect.logWarning(
              `${Counted.FAILURES_PER_MINUTE} wrong API keys came from ${network} within a minute`,
            )
          }
          return yield* keyInvalid()
        }
        if (principal.user.disabled)
          return yield* refuse("forbidden", "USER_DISABLED", "the user of this key is disabled")
        if (!allowsAddress(principal.key.allowedAddresses, address)) {
          if (budgets.recordsRefusal(principal.key.id, network, now)) {
            // Informational: the request is refused even when the write fails.
            yield* Effect.ignore(apiKeys.recordAddressRefused(principal, address))
          }
          return yield* refuse("forbidden", "ADDRESS_NOT_ALLOWED", "this key may not be used from this address")
        }
        if (cache.shouldMarkUsed(principal.key.id, now)) {
          // Informational: a failed write does not refuse the key.
          yield* Effect.ignore(apiKeys.markUsed(principal.key.id))
        }
        return principal
      })

      const count = Effect.fnUntraced(function* ({ key }: Principal, budget: Counted.BudgetName) {
        const state = budgets.use(key.id, budget, yield* Clock.currentTimeMillis)
        if (state.allowed) return state
        return yield* new TooManyRequests({
          code: "RATE_LIMIT_EXCEEDED",
          message: "this key has used up its requests of this minute",
          retryAfterSeconds: state.resetSeconds,
        })
      })

      const inScope = ({ key }: Principal, id: string): boolean =>
        key.scope.type === "Unrestricted" || key.scope.businessIds.includes(id)

      const business = Effect.fnUntraced(function* (caller: Principal, id: string) {
        if (!inScope(caller, id)) {
          return yield* refuse("forbidden", "RESTRICTED_API_KEY", "this key is restricted to other businesses")
        }
        const found = yield* owned.find(caller.user.id, id)
        if (found.disabled) return yield* refuse("forbidden", "BUSINESS_DISABLED", "this business is disabled")
        return found
      })

      return Access.of({
        authenticate,
        count,
        permitted: ({ key }, anyOf) =>
          anyOf.some((each) => key.permissions.includes(each))
            ? Effect.void
            : Effect.fail(refuse("forbidden", "PERMISSION_MISSING", permissionMissing(key.permissions, anyOf))),
        business,
        businesses: (caller) =>
          Effect.map(owned.list(caller.user.id), (all) => all.filter(({ id }) => inScope(caller, id))),
        userManagement: ({ key, user }) =>
          key.userManagement
            ? Effect.succeed(user)
            : Effect.fail(
                refuse(
                  "forbidden",
                  "API_ACCESS_MANAGEMENT_RESTRICTION",
                  "this key does not allow user management requests",
                ),
              ),
        unrestricted: ({ key, user }) =>
          key.scope.type === "Unrestricted"
            ? Effect.succeed(user)
            : Effect.fail(refuse("forbidden", "RESTRICTED_API_KEY", "this key is restricted to listed businesses")),
      })
    }),
  ).pipe(Layer.provide(Counted.layer(limits)))
