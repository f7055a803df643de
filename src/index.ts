/**
 * What a host application imports.
 *
 * With Effect: provide layers for `Settings`, `Store`, `IpIntel`, `PlatformApi` and `PushChannel` (the ones below, or your
 * own) to `layerGatekeeper`, or take `layerGate`, which has them all as the settings say; then use `Gatekeeper`, with HTTP
 * (`layerListeners`, `layerServer`) or without.
 *
 * Without Effect: `createGate(settings)` gives promises, plain objects, and two listeners for a node server.
 */

// Without Effect

export { type Client, createGate, type Gate, type GateOptions, type LogEntry } from "./embedded/createGate.ts"
export type { Handler, PrivateHandler, UpgradeHandler } from "./embedded/mount.ts"
export type {
  LaunchRefusal,
  LeaveResult,
  QueuedResult,
  RefusedResult,
  RequestRefusal,
  RequestResult,
  SessionEndedResult,
  StartedResult,
  StartRefusal,
  StartResult,
  StatusResult,
  TicketRefusal,
} from "./embedded/results.ts"
export type { CampaignSettings, GateSettings } from "./embedded/settings.ts"

// The gate

export {
  /** The gatekeeper with everything that the settings name; needs `Settings`. Its concerns are among its outputs. */
  layer as layerGate,
  /**
   * The gatekeeper over concerns that the host provides: `Settings`, `Store`, `IpIntel`, `PlatformApi`, `PushChannel`. Limits
   * and queue stand on the `Store`.
   */
  layerNoDeps as layerGatekeeper,
} from "./Gate.ts"
export {
  type Caller,
  Gatekeeper,
  initiateWebSession,
  /** The gatekeeper over all concerns as the host provides them, `RateLimiter`, `FifoQueue` and `Admission` too. */
  layer as layerGatekeeperNoDeps,
  type RequestError,
  type WebSessionConfig,
} from "./Gatekeeper.ts"
export { CapacityUnknown } from "./gatekeeper/capacity.ts"
export {
  /** What an operator sees and does, over a `Gatekeeper` and its concerns; `layerListeners` needs it. */
  layer as layerOperator,
  Operator,
} from "./operator/Operator.ts"

// Requests and outcomes

export {
  AudioConfiguration,
  Blocked,
  Draining,
  FieldIssue,
  InvalidRequest,
  isTerminal,
  LimitState,
  NotYourTurn,
  PlatformUnavailable,
  PushEvent,
  Queued,
  QueueFull,
  RateLimited,
  type SessionConfig,
  SessionRequest,
  type Started,
  StoreUnavailable,
  TicketId,
  TicketOver,
  TicketState,
  type TicketStatus,
  TicketUnknown,
} from "./Session.ts"

// Settings

export { type Campaign, IP_PROVIDERS, type IpProvider, Settings, type SettingsTree } from "./Settings.ts"
export {
  /** The settings of a process, from a file and the environment over it; needs a `FileSystem`. Warnings are logged. */
  layer as layerSettings,
  /** Settings given as an object in the shape of the settings file; warnings are logged. */
  layerFrom as layerSettingsFrom,
  loadSettings,
  type SettingsSource,
  settingsFrom,
} from "./settings/load.ts"
export { SettingProblem, SettingsInvalid } from "./settings/problems.ts"
export type { LoadedSettings } from "./settings/resolve.ts"

// Store

export { type Ask, type Rule, Store } from "./Store.ts"
export { parseConnectionString, type RedisConnection } from "./settings/connection-string.ts"
export {
  /** The store that `StoreConnectionString` names. */
  layer as layerStore,
} from "./store/layer.ts"
export {
  /** The data on which a rule runs in this process; a store of your own may keep one. */
  MemoryDb,
} from "./store/MemoryDb.ts"
export {
  /** The embedded store: for one process, gone with it. */
  layer as layerStoreMemory,
} from "./store/memory.ts"
export {
  /** The shared store on Redis, of a connection as `parseConnectionString` gives it. */
  layer as layerStoreRedis,
} from "./store/redis.ts"
export { StoreRefused } from "./store/redis-trouble.ts"

// Limits and queue

export {
  Admission,
  /** Quota and place in one step of the `Store`; the default. */
  layerAtomic as layerAdmissionAtomic,
  /** Quota of any `RateLimiter`, then a place of any `FifoQueue`. */
  layerSeparate as layerAdmissionSeparate,
} from "./Admission.ts"
export {
  type Admitted,
  type At,
  type Cleared,
  FifoQueue,
  /** Slots and queue over the `Store`. */
  layer as layerFifoQueue,
  type Place,
  type Settlement,
  type Signal,
  type Standing,
  type Start,
  type Stepped,
  type Swept,
  type Touched,
} from "./FifoQueue.ts"
export {
  /** The callers' budgets over the `Store`. */
  layer as layerRateLimiter,
  RateLimiter,
} from "./RateLimiter.ts"

// Addresses

export { IpFacts, IpIntel, IpIntelFailed, IpIntelSetupError, noFacts } from "./IpIntel.ts"
export { canonicalAddress, limitKey } from "./ip-intel/address.ts"
export { clientAddress, type TrustedProxies, trustedProxies } from "./ip-intel/client-address.ts"

// Platform

export {
  AtCapacity,
  type Concurrency,
  KeyRateLimited,
  /** The platform over HTTP; needs an `HttpClient`. */
  layer as layerPlatformApi,
  PlatformApi,
  PlatformError,
  Refused,
  RequestRefused,
  type SessionState,
  Unavailable,
  type WebSession,
} from "./PlatformApi.ts"

// Push

export {
  type CloseReason,
  type Connection,
  /** For one process: every connection is here. */
  layerLocal as layerPushLocal,
  /** For any number of instances, over the `Store`. */
  layerShared as layerPushShared,
  type Opened,
  PushChannel,
  TooManyConnections,
} from "./PushChannel.ts"

// HTTP

export { AccessLog, type AccessLogService, type Entry as AccessLogEntry } from "./http/access-log.ts"
export {
  Listeners,
  /** The gate's HTTP as two listeners of a node server, at the root or below `basePath`. */
  layer as layerListeners,
  type Options as ListenersOptions,
  refuseUpgrade,
} from "./http/listeners.ts"
export {
  GateServer,
  ListenFailed,
  /** A node server of its own, at `Server.Host` and `Server.Port`. */
  layer as layerServer,
} from "./http/server.ts"
