/**
 * What stands between the gate and a provider on the network: facts are cached in the process and in the store, an
 * address is looked up once at a time, a lookup has a time-out, a circuit breaker and a budget.
 *
 * A caller who goes away does not end a lookup that others wait for. A store that fails is a cache that misses.
 */
import { Clock, Effect, Fiber, Option, Schema, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { LRUCache } from "lru-cache"
import type { SettingsTree } from "../Settings.ts"
import type { Store } from "../Store.ts"
import { makeBudget } from "./budget.ts"
import { BLOCKABLE, failing, IpFacts, type IpIntelFailed, type Provider } from "./facts.ts"

const PROCESS_CACHE_ADDRESSES = 50_000
const DAY_MILLIS = 86_400_000
/** This many failures in a row open the circuit … */
const FAILURES_TO_OPEN = 5
/** … and after so long one lookup tries whether the provider is back. */
const OPEN_FOR = "30 seconds"

/**
 * What the store keeps under `vg:ip:<provider>:<address>`; `at` is when it was looked up, in milliseconds since 1970. Values
 * without `v` are of older versions, which kept what was not known as clean: they are passed over.
 */
const Cached = Schema.fromJsonString(Schema.Struct({ v: Schema.Literal(2), facts: IpFacts, at: Schema.Finite }))
const decodeCached = Schema.decodeUnknownOption(Cached)
const encodeCached = Schema.encodeSync(Cached)

/** Lookups that fail so say nothing about the provider's health. */
const isHarmless = (error: IpIntelFailed): boolean => error.reason === "budget" || error.reason === "rejected"

export interface Remote extends Provider {
  /** one lookup past caches, breaker and budget, within the time-out */
  readonly uncached: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}

/** Guards a provider; lookups in flight end with the scope. */
export const makeRemote = Effect.fnUntraced(function* (
  provider: Provider,
  settings: Pick<SettingsTree["IpIntel"], "CacheDays" | "LookupsPerMinute" | "TimeoutMillis">,
  store: Store["Service"],
): Effect.fn.Return<Remote, never, Scope.Scope> {
  const { name } = provider
  const fail = failing(name)
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(FAILURES_TO_OPEN),
    openDuration: OPEN_FOR,
  }).pipe(Effect.provide(CircuitBreaker.layerStoreMemory()))
  const withinBudget = makeBudget(settings.LookupsPerMinute)
  const ttl = settings.CacheDays * DAY_MILLIS
  /** An answer that leaves a fact open is asked again the next day. */
  const ttlOf = (facts: IpFacts): number =>
    BLOCKABLE.some((fact) => facts[fact] === null) ? Math.min(ttl, DAY_MILLIS) : ttl
  const inProcess = new LRUCache<string, { readonly facts: IpFacts; readonly expiresAt: number }>({
    max: PROCESS_CACHE_ADDRESSES,
  })
  const inFlight = new Map<string, Fiber.Fiber<IpFacts, IpIntelFailed>>()
  const storeKey = (address: string) => `vg:ip:${name}:${address}`

  const uncached = (address: string) =>
    Effect.timeoutOrElse(provider.lookup(address), {
      duration: settings.TimeoutMillis,
      orElse: () => fail("timeout", `did not answer within ${settings.TimeoutMillis} ms`),
    })

  /** One outcome a lookup reaches the breaker: the time-out is inside it. */
  const guarded = (address: string): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() =>
      withinBudget(clock.currentTimeMillisUnsafe())
        ? uncached(address)
        : fail("budget", `may be asked ${settings.LookupsPerMinute} times a minute, which are used up`),
    ).pipe(
      breaker.execute({
        key: name,
        classify: (exit) =>
          exit._tag === "Success"
            ? CircuitBreaker.success
            : exit.cause.reasons.some((reason) => reason._tag === "Fail" && isHarmless(reason.error))
              ? CircuitBreaker.ignored
              : CircuitBreaker.failure(),
      }),
      Effect.catchTag("CircuitBreakerError", () => fail("circuit_open", "failed repeatedly and is not asked for now")),
    )

  const fromStore = (address: string): Effect.Effect<IpFacts | undefined> =>
    store.get(storeKey(address)).pipe(
      Effect.map((text) => {
        const cached = Option.getOrUndefined(decodeCached(text))
        if (cached === undefined) return undefined
        const now = clock.currentTimeMillisUnsafe()
        // an instance whose clock is ahead cannot make its facts outlive ours
        const expiresAt = Math.min(cached.at, now) + ttlOf(cached.facts)
        if (expiresAt <= now) return undefined
        inProcess.set(address, { facts: cached.facts, expiresAt })
        return cached.facts
      }),
      Effect.catchTag("StoreUnavailable", () => Effect.undefined),
    )

  /** Keeps what was learned; the store is written behind the caller's back. */
  const remember = (address: string, facts: IpFacts): Effect.Effect<void> => {
    if (ttl <= 0) return Effect.void
    const at = clock.currentTimeMillisUnsafe()
    const keptFor = ttlOf(facts)
    inProcess.set(address, { facts, expiresAt: at + keptFor })
    return store
      .set(storeKey(address), encodeCached({ v: 2, facts, at }), keptFor)
      .pipe(Effect.ignore, Effect.forkIn(scope), Effect.asVoid)
  }

  const resolve = Effect.fnUntraced(function* (address: string): Effect.fn.Return<IpFacts, IpIntelFailed> {
    const cached = ttl > 0 ? yield* fromStore(address) : undefined
    if (cached !== undefined) return cached
    const facts = yield* guarded(address)
    yield* remember(address, facts)
    return facts
  })

  /** Joins the lookup of this address that is under way, or starts one. */
  const single = (address: string): Effect.Effect<IpFacts, IpIntelFailed> =>
    Effect.suspend(() => {
      const running = inFlight.get(address)
      if (running !== undefined) return Fiber.join(running)
      return resolve(address).pipe(
        Effect.ensuring(Effect.sync(() => inFlight.delete(address))),
        Effect.forkIn(scope),
        Effect.tap((fiber) =>
          Effect.sync(() => {
            // should the scheduler have let it end already, nothing would take it out of the map again
            if (fiber.pollUnsafe() === undefined) inFlight.set(address, fiber)
          }),
        ),
        Effect.uninterruptible,
        Effect.flatMap(Fiber.join),
      )
    })

  return {
    name,
    uncached,
    lookup: (address) =>
      Effect.suspend(() => {
        const known = inProcess.get(address)
        return known !== undefined && known.expiresAt > clock.currentTimeMillisUnsafe()
          ? Effect.succeed(known.facts)
          : single(address)
      }),
  }
})
