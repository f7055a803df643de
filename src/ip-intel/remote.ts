/**
 * Wraps a network provider: facts are cached in the process and in the store, concurrent lookups of an address share one request,
 * and a lookup has a time-out, a circuit breaker and budgets. IPv6 is treated by /64, which usually is one caller: the first
 * address that is looked up stands for the whole /64.
 *
 * No network can use up what others need: each has a share of the budget, and the circuit opens only on failures that several
 * networks met or that do not depend on the address.
 *
 * A lookup continues for the other callers when one of them disconnects. A failing store counts as a cache miss.
 */

import { Clock, Effect, Fiber, Option, Schema, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { CallerNames } from "../caller-names/CallerNames.ts"
import { isOpen } from "../lib/age.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import { type Address, parseAddress } from "../lib/ip/address.ts"
import { addressLookup, recorded } from "../lib/request-metrics.ts"
import { inSpan } from "../lib/spans.ts"
import * as SteadyCircuits from "../lib/steady-circuits.ts"
import type { SettingsTree } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import { makeSharedBudget, networkPerDay, widerShare } from "./budget.ts"
import { BLOCKABLE, failing, IpFacts, type IpIntelFailed, type Provider } from "./facts.ts"
import { FORGOTTEN_CHANNEL, factsStoreKey } from "./forget.ts"

const PROCESS_CACHE_ADDRESSES = 50_000
const DAY_MILLIS = 86_400_000
/** This many consecutive failures open the circuit, each of a different network. */
const CIRCUIT_FAILURES = 5
/** After this time one lookup probes whether the provider has recovered. */
const CIRCUIT_OPEN = "30 seconds"

/**
 * The store's value under `vg:ip:<provider>:<IPv4 address or IPv6 /64, or its hash>`; `at` is the time of the lookup (ms since
 * 1970). Values without `v` are from older versions, which stored unknown facts as clean: they are ignored.
 */
const Cached = Schema.fromJsonString(Schema.Struct({ v: Schema.Literal(2), facts: IpFacts, at: Schema.Finite }))
const decodeCached = Schema.decodeUnknownOption(Cached)
const encodeCached = Schema.encodeSync(Cached)

/** Failures that the circuit breaker ignores: the gate's own budgets, and addresses on which the provider has nothing. */
const IGNORED_FAILURES: ReadonlySet<IpIntelFailed["reason"]> = new Set(["budget", "network_budget", "rejected"])
/** Failures that are the same for every address. */
const PROVIDER_FAILURES: ReadonlySet<IpIntelFailed["reason"]> = new Set(["quota", "unauthorized"])

export interface Remote extends Provider {
  /** a lookup without caches, breaker and budget, with the time-out */
  readonly uncached: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}

/** Wraps a provider; lookups in flight are interrupted when the scope closes. */
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
    tripPolicy: CircuitBreaker.consecutive(CIRCUIT_FAILURES),
    openDuration: CIRCUIT_OPEN,
  }).pipe(Effect.provide(SteadyCircuits.layer))
  const { LookupsPerMinute, NetworkLookupsPerMinute } = settings
  const take = makeSharedBudget(LookupsPerMinute, NetworkLookupsPerMinute)
  /** networks whose failures count towards opening the circuit; never more than `CIRCUIT_FAILURES` */
  const failedNetworks = new Set<string>()
  const ttl = settings.CacheDays * DAY_MILLIS
  /** An answer with an unknown fact expires after a day. */
  const ttlOf = (facts: IpFacts): number =>
    BLOCKABLE.some((fact) => facts[fact] === null) ? Math.min(ttl, DAY_MILLIS) : ttl
  const inProcess = boundedCache<{ readonly facts: IpFacts; readonly expiresAt: number }>(PROCESS_CACHE_ADDRESSES)
  const inFlight = new Map<string, Fiber.Fiber<IpFacts, IpIntelFailed>>()
  const storeKey = (key: string) => factsStoreKey(name, names.of(key))
  yield* store.subscribe(FORGOTTEN_CHANNEL, (each) => inProcess.delete(each))
  const namesReady = names.ready ?? Effect.void

  const uncached = (address: string) =>
    Effect.timeoutOrElse(provider.lookup(address), {
      duration: settings.TimeoutMillis,
      orElse: () => fail("timeout", `did not answer within ${settings.TimeoutMillis} ms`),
    }).pipe(recorded(addressLookup), inSpan("IpIntel.request", { attributes: { "voicegate.provider": name } }))

  const withinBudget = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> => {
    switch (take(address, clock.currentTimeMillisUnsafe())) {
      case "taken":
        return uncached(address.text)
      case "network":
        return fail("network_budget", `has a limit of ${NetworkLookupsPerMinute} lookups per minute for one network`)
      case "day":
        return fail(
          "network_budget",
          `has a limit of ${networkPerDay(NetworkLookupsPerMinute)} lookups per day for one network`,
        )
      case "wider": {
        const limit = widerShare(LookupsPerMinute, NetworkLookupsPerMinute)
        return fail("network_budget", `has a limit of ${limit} lookups per minute for one range (/16, IPv6 /32)`)
      }
      case "whole":
        return fail("budget", `has a limit of ${LookupsPerMinute} lookups per minute, which is used up`)
    }
  }

  /** How a failed lookup counts for the breaker: once per network when the network's addresses may be the reason. */
  const classifyFailure = (network: string, reason: IpIntelFailed["reason"] | undefined) => {
    if (reason !== undefined && IGNORED_FAILURES.has(reason)) return CircuitBreaker.ignored
    if (reason !== undefined && PROVIDER_FAILURES.has(reason)) return CircuitBreaker.failure()
    if (failedNetworks.has(network)) return CircuitBreaker.ignored
    failedNetworks.add(network)
    // the circuit opens now; the next probe counts again, whichever network it is from
    if (failedNetworks.size >= CIRCUIT_FAILURES) failedNetworks.clear()
    return CircuitBreaker.failure()
  }

  /** A lookup through the breaker, which sees one outcome per lookup: the time-out is inside. */
  const guarded = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() => withinBudget(address)).pipe(
      breaker.execute({
        key: name,
        classify: (exit) => {
          if (exit._tag === "Success") {
            failedNetworks.clear()
            return CircuitBreaker.success
          }
          return classifyFailure(
            address.networkKey,
            exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error.reason,
          )
        },
      }),
      Effect.catchTag("CircuitBreakerError", () => {
        failedNetworks.clear()
        return fail("circuit_open", "failed repeatedly and is paused")
      }),
    )

  const fromStore = (key: string): Effect.Effect<IpFacts | undefined> =>
    Effect.andThen(
      namesReady,
      Effect.suspend(() => store.get(storeKey(key))),
    ).pipe(
      Effect.map((text) => {
        const cached = Option.getOrUndefined(decodeCached(text))
        if (cached === undefined) return undefined
        const now = clock.currentTimeMillisUnsafe()
        // facts from an instance whose clock is ahead do not live longer
        const expiresAt = Math.min(cached.at, now) + ttlOf(cached.facts)
        if (expiresAt <= now) return undefined
        inProcess.set(names.of(key), { facts: cached.facts, expiresAt })
        return cached.facts
      }),
      Effect.catchTag("StoreUnavailable", () => Effect.undefined),
    )

  /** Caches facts; the store is written in the background. */
  const remember = (key: string, facts: IpFacts): Effect.Effect<void> => {
    if (ttl <= 0) return Effect.void
    const at = clock.currentTimeMillisUnsafe()
    const keptFor = ttlOf(facts)
    inProcess.set(names.of(key), { facts, expiresAt: at + keptFor })
    return Effect.andThen(
      namesReady,
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

  /** Joins the lookup in flight for this address (or its /64), or starts one. */
  const sharedLookup = (address: Address): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() => {
      const key = address.factsKey
      const running = inFlight.get(key)
      if (running !== undefined) return Fiber.join(running)
      return resolve(address).pipe(
        Effect.ensuring(Effect.sync(() => inFlight.delete(key))),
        Effect.forkIn(scope),
        Effect.tap((fiber) =>
          Effect.sync(() => {
            // a fiber that has already ended would never be removed from the map
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
        if (address === undefined) return fail("rejected", "got an invalid address")
        const known = inProcess.get(names.of(address.factsKey))
        return known !== undefined && isOpen(known.expiresAt, ttlOf(known.facts), clock.currentTimeMillisUnsafe())
          ? Effect.succeed(known.facts)
          : sharedLookup(address)
      }),
  }
})
