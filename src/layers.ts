/** The gate's layers for a host with Effect. Their modules are loaded when they are built. */
import { Effect } from "effect"
import { lazyLayer } from "./lazy-layer.ts"
import type { SettingsSource } from "./settings/load.ts"

/** The gatekeeper with all its concerns, built from `Settings`. It provides the concerns too. */
export const layerGate = lazyLayer(async () => (await import("./Gate.ts")).layer)

/**
 * The gatekeeper over concerns that the host provides: `Settings`, `Store`, `IpIntel`, `PlatformApi`, `PushChannel`. Limits
 * and queue use the `Store`.
 */
export const layerGatekeeper = lazyLayer(async () => (await import("./Gate.ts")).layerNoDeps)

/** The gatekeeper over concerns that the host provides, including `RateLimiter`, `FifoQueue` and `Admission`. */
export const layerGatekeeperNoDeps = lazyLayer(async () => (await import("./Gatekeeper.ts")).layer)

/** What an operator sees and does, over a `Gatekeeper` and its concerns; `layerListeners` needs it. */
export const layerOperator = lazyLayer(async () => (await import("./operator/Operator.ts")).layer)

/** The store of `StoreConnectionString`. */
export const layerStore = lazyLayer(async () => (await import("./store/layer.ts")).layer)

/** The embedded store: for one process, lost when the process ends. */
export const layerStoreMemory = lazyLayer(async () => (await import("./store/memory.ts")).layer)

/** Quota and place in one step of the `Store`; the default. */
export const layerAdmissionAtomic = lazyLayer(async () => (await import("./Admission.ts")).layerAtomic)

/** Quota from any `RateLimiter`, then a place in any `FifoQueue`. */
export const layerAdmissionSeparate = lazyLayer(async () => (await import("./Admission.ts")).layerSeparate)

/** Slots and queue over the `Store`. */
export const layerFifoQueue = lazyLayer(async () => (await import("./queue/layer.ts")).layer)

/** The callers' budgets over the `Store`. */
export const layerRateLimiter = lazyLayer(async () => (await import("./RateLimiter.ts")).layer)

/** The platform over HTTP; needs an `HttpClient`. */
export const layerPlatformApi = lazyLayer(async () => (await import("./PlatformApi.ts")).layer)

/** Push for a single process, which has every connection. */
export const layerPushLocal = lazyLayer(async () => (await import("./PushChannel.ts")).layerLocal)

/** Push for any number of instances, over the `Store`. */
export const layerPushShared = lazyLayer(async () => (await import("./PushChannel.ts")).layerShared)

const settings = Effect.promise(() => import("./settings/load.ts"))

/** Reads the settings of a process from a file and the environment, which wins; needs a `FileSystem`. */
export const loadSettings = (source: SettingsSource) =>
  Effect.flatMap(settings, ({ loadSettings: load }) => load(source))

/** Reads settings from a file and the environment, which wins; needs a `FileSystem`. Logs warnings. */
export const layerSettings = (source: SettingsSource) =>
  lazyLayer(async () => (await import("./settings/load.ts")).layer(source))
