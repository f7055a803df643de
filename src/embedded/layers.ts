/** The gate's layers for a host with Effect. Their modules are loaded when they are built. */
import { Effect, Layer } from "effect"
import { Admission } from "../admission/Admission.ts"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"
import { lazyLayer } from "../lib/lazy-layer.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { RateLimiter } from "../rate-limiter/RateLimiter.ts"
import type { SettingsSource } from "../settings/load.ts"
import { Store } from "../store/Store.ts"

/**
 * Logs a warning where a host provides services to a layer that has its own: they would be ignored in silence, because a layer takes from
 * what it is given only what it asks for.
 */
const sayingUnused = <A, E, R>(
  layer: Layer.Layer<A, E, R>,
  name: string,
  own: ReadonlyArray<{ readonly key: string }>,
  instead: string,
): Layer.Layer<A, E, R> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const given = (yield* Effect.context<never>()).mapUnsafe
      const unused = own.filter(({ key }) => given.has(key)).map(({ key }) => key.replace("voicegate/", ""))
      if (unused.length > 0) {
        yield* Effect.logWarning(
          `${name} has its own ${unused.join(", ")}, and does not use the one that is provided to it. ${instead}`,
        )
      }
      return layer
    }),
  )

/** The services that `layerGatekeeper` makes over the `Store`. */
const OVER_STORE = [RateLimiter, FifoQueue, Admission]

/**
 * The gatekeeper with all its concerns, built from `Settings`. It provides the concerns too. One that the host provides to it is not used,
 * and a warning says so.
 */
export const layerGate = sayingUnused(
  lazyLayer(async () => (await import("./as-configured.ts")).layer),
  "layerGate",
  [Store, IpIntel, PlatformApi, PushChannel, ...OVER_STORE],
  "To replace one, use layerGatekeeper or layerGatekeeperNoDeps.",
)

/**
 * The gatekeeper over concerns that the host provides: `Settings`, `Store`, `IpIntel`, `PlatformApi`, `PushChannel`. Limits
 * and queue use the `Store`: a `RateLimiter`, `FifoQueue` or `Admission` that the host provides to it is not used, and a warning says so.
 */
export const layerGatekeeper = sayingUnused(
  lazyLayer(async () => (await import("./as-configured.ts")).layerNoDeps),
  "layerGatekeeper",
  OVER_STORE,
  "To replace one, use layerGatekeeperNoDeps, which takes all three.",
)

/** The gatekeeper over concerns that the host provides, including `RateLimiter`, `FifoQueue` and `Admission`. */
export const layerGatekeeperNoDeps = lazyLayer(async () => (await import("../gatekeeper/layer.ts")).layer)

/** What an operator sees and does, over a `Gatekeeper` and its concerns; `layerListeners` needs it. */
export const layerOperator = lazyLayer(async () => (await import("../operator/layer.ts")).layer)

/** The store of `StoreConnectionString`. */
export const layerStore = lazyLayer(async () => (await import("../store/layer.ts")).layer)

/** The embedded store: for one process, lost when the process ends. */
export const layerStoreMemory = lazyLayer(async () => (await import("../store/memory/layer.ts")).layer)

/** Quota and place in one step of the `Store`; the default. */
export const layerAdmissionAtomic = lazyLayer(async () => (await import("../admission/layer.ts")).layerAtomic)

/** Quota from any `RateLimiter`, then a place in any `FifoQueue`. */
export const layerAdmissionSeparate = lazyLayer(async () => (await import("../admission/layer.ts")).layerSeparate)

/** Slots and queue over the `Store`. */
export const layerFifoQueue = lazyLayer(async () => (await import("../fifo-queue/layer.ts")).layer)

/** The callers' budgets over the `Store`. */
export const layerRateLimiter = lazyLayer(async () => (await import("../rate-limiter/layer.ts")).layer)

/** The platform over HTTP; needs an `HttpClient`. */
export const layerPlatformApi = lazyLayer(async () => (await import("../platform-api/layer.ts")).layer)

/** Push for a single process, which has every connection. */
export const layerPushLocal = lazyLayer(async () => (await import("../push-channel/layer.ts")).layerLocal)

/** Push for any number of instances, over the `Store`. */
export const layerPushShared = lazyLayer(async () => (await import("../push-channel/layer.ts")).layerShared)

const settings = Effect.promise(() => import("../settings/load.ts"))

/** Reads the settings of a process from a file and the environment, which wins; needs a `FileSystem`. */
export const loadSettings = (source: SettingsSource) =>
  Effect.flatMap(settings, ({ loadSettings: load }) => load(source))

/** Reads settings from a file and the environment, which wins; needs a `FileSystem`. Logs warnings. */
export const layerSettings = (source: SettingsSource) =>
  lazyLayer(async () => (await import("../settings/load.ts")).layer(source))
