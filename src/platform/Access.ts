/**
 * The one place that decides who a caller is and what a key may touch. Every check is an effect whose failure says what is
 * missing; endpoints declare which checks they stand behind (`http/Authorization.ts`), and none checks by itself.
 */
import { Clock, Context, Effect, Layer, Schema, Semaphore } from "effect"
import { limitKey } from "../ip-intel/address.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { type Left, makeBudget } from "./Budgets.ts"
import { Businesses } from "./Businesses.ts"
import type { DatabaseUnavailable } from "./data/Database.ts"
import { KeyCache } from "./KeyCache.ts"
import { digestSecret, hasSecretForm } from "./KeySecret.ts"
import { type Business, type Permission, type Principal, type Refused, refuse, type User } from "./model.ts"

/**
 * Wrong keys of one address in a minute, beyond which its unknown keys are looked up one after another: wrong ones take at most
 * one of the database's connections from others, and the right one still works.
 */
export const FAILURES_PER_MINUTE = 20

/** Too often; `left` says when it may be tried again. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()("TooManyRequests", {
  code: Schema.Literal("RATE_LIMIT_EXCEEDED"),
  message: Schema.String,
  retryAfterSeconds: Schema.Int,
}) {}

/** Which budget a request is counted in. */
export type Counted = "request" | "start"

export interface Limits {
  /** requests of one key a minute; 0 is no limit */
  readonly requestsPerMinute: number
  /** starts of one key a minute, counted apart; 0 is no limit */
  readonly startsPerMinute: number
}

export class Access extends Context.Service<
  Access,
  {
    /**
     * Who the secret of a key stands for; one answer for every secret that is not good. A mistyped one is refused before the
     * database is asked. A good key works whatever else came from its address.
     *
     * @param address of the client; empty when not known
     */
    readonly authenticate: (secret: string, address: string) => Effect.Effect<Principal, Refused | DatabaseUnavailable>
    /** Counts a request of a key. */
    readonly count: (caller: Principal, counted: Counted) => Effect.Effect<Left, TooManyRequests>
    /** Passes a key that has one of the permissions; an empty list passes none. */
    readonly permitted: (caller: Principal, anyOf: ReadonlyArray<Permission>) => Effect.Effect<void, Refused>
    /** A business within the key's scope, which its user owns. */
    readonly business: (caller: Principal, id: string) => Effect.Effect<Business, Refused | DatabaseUnavailable>
    /** The businesses within the key's scope. */
    readonly businesses: (caller: Principal) => Effect.Effect<ReadonlyArray<Business>, DatabaseUnavailable>
    /** The user, for a key that may make user management requests. */
    readonly userManagement: (caller: Principal) => Effect.Effect<User, Refused>
    /** The user, for a key that is not restricted to some businesses. */
    readonly unrestricted: (caller: Principal) => Effect.Effect<User, Refused>
  }
>()("voicegate/platform/Access") {}

/** What wrong keys are counted by: an IPv4 address, the /64 of IPv6, and the IPv4 address that an IPv6 address embeds. */
export const networkOf = limitKey

const quoted = (permissions: ReadonlyArray<Permission>, between: string): string =>
  permissions.map((each) => `"${each}"`).join(between)

const permissionMissing = (has: ReadonlyArray<Permission>, anyOf: ReadonlyArray<Permission>): string =>
  anyOf.length === 0
    ? "no key has the permission for this endpoint"
    : `this key needs the permission ${quoted(anyOf, " or ")}, and has ${quoted(has, ", ")}`

const keyInvalid = () => refuse("unauthenticated", "API_KEY_INVALID", "the API key is not valid")

export const layer = (limits: Limits): Layer.Layer<Access, never, ApiKeys | Businesses | KeyCache> =>
  Layer.effect(
    Access,
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const owned = yield* Businesses
      const cache = yield* KeyCache
      const failures = makeBudget(FAILURES_PER_MINUTE)
      const oneByOne = yield* Semaphore.make(1)
      const budgets = { request: makeBudget(limits.requestsPerMinute), start: makeBudget(limits.startsPerMinute) }

      const prove = Effect.fnUntraced(function* (digest: string, network: string, now: number) {
        const fresh = cache.fresh(digest, now)
        if (fresh !== undefined) return fresh
        const asking = cache.asking()
        const asked = apiKeys.lookUp(digest)
        const guessing = !failures.look(network, now).allowed && !cache.known(digest)
        const found = yield* guessing ? oneByOne.withPermit(asked) : asked
        if (found === undefined) {
          cache.forget(digest)
          return undefined
        }
        asking.keep(digest, found, now)
        return found
      })

      const authenticate = Effect.fnUntraced(function* (secret: string, address: string) {
        const now = yield* Clock.currentTimeMillis
        const network = networkOf(address)
        const principal = hasSecretForm(secret) ? yield* prove(digestSecret(secret), network, now) : undefined
        if (principal === undefined || (principal.key.expiresAt !== null && principal.key.expiresAt <= now)) {
          const left = failures.use(network, now)
          // The last one of the budget, so at most one line a minute about an address.
          if (left.allowed && left.remaining === 0) {
            yield* Effect.logWarning(`${FAILURES_PER_MINUTE} wrong API keys came from ${network} within a minute`)
          }
          return yield* keyInvalid()
        }
        if (principal.user.disabled)
          return yield* refuse("forbidden", "USER_DISABLED", "the user of this key is disabled")
        if (cache.toBeMarked(principal.key.id, now)) {
          // Only a note: a key is not refused because it could not be written.
          yield* Effect.ignore(apiKeys.markUsed(principal.key.id))
        }
        return principal
      })

      const count = Effect.fnUntraced(function* ({ key }: Principal, counted: Counted) {
        const left = budgets[counted].use(key.id, yield* Clock.currentTimeMillis)
        if (left.allowed) return left
        return yield* new TooManyRequests({
          code: "RATE_LIMIT_EXCEEDED",
          message: "this key has made all the requests of this minute",
          retryAfterSeconds: left.resetSeconds,
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
  )
