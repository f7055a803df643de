/**
 * What stands between the gate and a provider on the network: facts are cached in the process and in the store, an
 * address is looked up once at a time, a lookup has a time-out, a circuit breaker and budgets. All of it knows IPv6 by the
 * /64, which one caller has: the first address of it that asks is looked up for all of it.
 *
 * No network can spend what others need: it has a share of the budget, and the circuit opens only on failures that several
 * networks met, or that do not depend on the address.
 *
 * A caller who goes away does not end a lookup that others wait for. A store that fails is a cache that misses.
 */
import { Clock, Effect, Fiber, Option, Schema, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { boundedCache } from "../bounded-cache.ts"
import type { CallerNames } from "../CallerNames.ts"
import type { SettingsTree } from "../Settings.ts"
import type { Store } from "../Store.ts"
import { type Address, parseAddress } from "./address.ts"
import { makeSharedBudget, widerShare } from "./budget.ts"
import { BLOCKABLE, failing, IpFacts, type IpIntelFailed, type Provider } from "./facts.ts"

const PROCESS_CACHE_ADDRESSES = 50_000
const DAY_MILLIS = 86_400_000
/** This many failures in a row open the circuit, each of another network … */
const FAILURES_TO_OPEN = 5
/** … and after so long one lookup tries whether the provider is back. */
const OPEN_FOR = "30 seconds"

/**
 * What the store keeps under `vg:ip:<provider>:<IPv4 address or IPv6 /64, or its hash>`; `at` is when it was looked up, in milliseconds since 1970. Values
 * without `v` are of older versions, which kept what was not known as clean: they are passed over.
 */
const Cached = Schema.fromJsonString(Schema.Struct({ v: Schema.Literal(2), facts: IpFacts, at: Schema.Finite }))
const decodeCached = Schema.decodeUnknownOption(Cached)
const encodeCached = Schema.encodeSync(Cached)

/** Failures that say nothing of the provider's health, since they depend on the address or on this gate. */
const HARMLESS: ReadonlySet<IpIntelFailed["reason"]> = new Set(["budget", "network_budget", "rejected", "malformed"])
/** Failures that do not depend on the address. */
const GENERAL: ReadonlySet<IpIntelFailed["reason"]> = new Set(["quota", "unauthorized"])

export interface Remote extends Provider {
  /** one lookup past caches, breaker and budget, within the time-out */
  readonly uncached: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}

/** Guards a provider; lookups in flight end with the scope. */
export const makeRemote = Effect.fnUntraced(function* (
  provider: Provider,
  settings: Pick<
    SettingsTree["IpIntel"],
    "CacheDays" | "LookupsPerMinute" | "NetworkLookupsPerMinute" | "TimeoutMillis"
  >,
  store: Store["Service"],
  names: CallerNames["Service"],
): Effect.fn.Return<Remote, never, Scope.Scope> {
  const { name } = provider
  const fail = failing(name)
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
    openDuration: OPEN_FOR,
  }).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))
  const { LookupsPerMinute, NetworkLookupsPerMinute } = settings
  const take = makeSharedBudget(LookupsPerMinute, NetworkLookupsPerMinute)
  /** networks whose failures count towards opening the circuit; as many open it, so there are never many */
  const failedNetworks = new Set<string>()
  const ttl = settings.CacheDays * DAY_MILLIS
  /** An answer that leaves a fact open is asked again the next day. */
  const ttlOf = (facts: IpFacts): number =>
    BLOCKABLE.some((fact) => facts[fact] === null) ? Math.min(ttl, DAY_MILLIS) : ttl
  const inProcess = boundedCache<{ readonly facts: IpFacts; readonly expiresAt: number }>(PROCESS_CACHE_ADDRESSES)
  const inFlight = new Map<string, Fiber.Fiber<IpFacts, IpIntelFailed>>()
  const storeKey = (key: string) => `vg:ip:${name}:${names.of(key)}`
  const named = names.ready ?? Effect.void

  const uncached = (address: string) =>
    Effect.timeoutOrElse(provider.lookup(address), {
      duration: settings.TimeoutMillis,
      orElse: () => fail("timeout", `did not answer within ${settings.TimeoutMillis} ms`),
    })

  const withinBudget = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> => {
    switch (take(address, clock.currentTimeMillisUnsafe())) {
      case "taken":
        return uncached(address.text)
      case "network":
        return fail("network_budget", `may be asked ${NetworkLookupsPerMinute} times a minute of one network`)
      case "wider": {
        const most = widerShare(LookupsPerMinute, NetworkLookupsPerMinute)
        return fail("network_budget", `may be asked ${most} times a minute of one range (/16, IPv6 /32)`)
      }
      case "whole":
        return fail("budget", `may be asked ${LookupsPerMinute} times a minute, which are used up`)
    }
  }

  /** How a lookup that failed counts: once a network, where the network's addresses may be the reason. */
  const failed = (network: string, reason: IpIntelFailed["reason"] | undefined) => {
    if (reason !== undefined && HARMLESS.has(reason)) return CircuitBreaker.ignored
    if (reason !== undefined && GENERAL.has(reason)) return CircuitBreaker.failure()
    if (failedNetworks.has(network)) return CircuitBreaker.ignored
    failedNetworks.add(network)
    // it opens now; the trial that follows counts again, whoever makes it
    if (failedNetworks.size >= FAILURES_TO_OPEN) failedNetworks.clear()
    return CircuitBreaker.failure()
  }

  /** One outcome a lookup reaches the breaker: the time-out is inside it. */
  const guarded = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() => withinBudget(address)).pipe(
      breaker.execute({
        key: name,
        classify: (exit) => {
          if (exit._tag === "Success") {
            failedNetworks.clear()
            return CircuitBreaker.success
          }
          return failed(address.networkKey, exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error.reason)
        },
      }),
      Effect.catchTag("CircuitBreakerError", () => {
        failedNetworks.clear()
        return fail("circuit_open", "failed repeatedly and is not asked for now")
      }),
    )

  const fromStore = (key: string): Effect.Effect<IpFacts | undefined> =>
    Effect.andThen(
      named,
      Effect.suspend(() => store.get(storeKey(key))),
    ).pipe(
      Effect.map((text) => {
        const cached = Option.getOrUndefined(decodeCached(text))
        if (cached === undefined) return undefined
        const now = clock.currentTimeMillisUnsafe()
        // an instance whose clock is ahead cannot make its facts outlive ours
        const expiresAt = Math.min(cached.at, now) + ttlOf(cached.facts)
        if (expiresAt <= now) return undefined
        inProcess.set(names.of(key), { facts: cached.facts, expiresAt })
        return cached.facts
      }),
      Effect.catchTag("StoreUnavailable", () => Effect.undefined),
    )

  /** Keeps what was learned; the store is written behind the caller's back. */
  const remember = (key: string, facts: IpFacts): Effect.Effect<void> => {
    if (ttl <= 0) return Effect.void
    const at = clock.currentTimeMillisUnsafe()
    const keptFor = ttlOf(facts)
    inProcess.set(names.of(key), { facts, expiresAt: at + keptFor })
    return Effect.andThen(
      named,
      Effect.suspend(() => store.set(storeKey(key), encodeCached({ v: 2, facts, at }), keptFor)),
    ).pipe(Effect.ignore, Effect.forkIn(scope), Effect.asVoid)
  }

  const resolve = Effect.fnUntraced(function* (address: Address): Effect.fn.Return<IpFacts, IpIntelFailed> {
    const cached = ttl > 0 ? yield* fromStore(address.factsKey) : undefined
    if (cached !== undefined) return cached
    const facts = yield* guarded(address)
    yield* remember(address.factsKey, facts)
    return facts
  })

  /** Joins the lookup of this address, or of its /64, that is under way, or starts one. */
  const single = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() => {
      const key = address.factsKey
      const running = inFlight.get(key)
      if (running !== undefined) return Fiber.join(running)
      return resolve(address).pipe(
        Effect.ensuring(Effect.sync(() => inFlight.delete(key))),
        Effect.forkIn(scope),
        Effect.tap((fiber) =>
          Effect.sync(() => {
            // should the scheduler have let it end already, nothing would take it out of the map again
            if (fiber.pollUnsafe() === undefined) inFlight.set(key, fiber)
          }),
        ),
        Effect.uninterruptible,
        Effect.flatMap(Fiber.join),
      )
    })

  return {
    name,
    uncached,
    lookup: (text) =>
      Effect.suspend(() => {
        const address = parseAddress(text)
        if (address === undefined) return fail("rejected", "cannot be asked for what is no address")
        const known = inProcess.get(names.of(address.factsKey))
        return known !== undefined && known.expiresAt > clock.currentTimeMillisUnsafe()
          ? Effect.succeed(known.facts)
          : single(address)
      }),
  }
})
