/**
 * What a host application imports.
 *
 * With Effect: provide layers for `Settings`, `Store`, `IpIntel`, `PlatformApi` and `PushChannel` (the ones below, or your
 * own) to `layerGatekeeper`, or use `layerGate`, which builds all of them from the settings. Then use `Gatekeeper`, with HTTP
 * (`layerListeners`, `layerServer`) or without.
 *
 * Without Effect: `createGate(settings)` returns promises, plain objects, and listeners for a node server.
 */

import "./lib/node-version.ts"

// Without Effect

export { createGate } from "./embedded/createGate.ts"
export type { Fetch, FetchInfo } from "./embedded/fetch.ts"
export type { Client, Gate, GateOptions, LogEntry, SessionBody } from "./embedded/gate.ts"
export type { Handler, PrivateHandler, UpgradeHandler } from "./embedded/mount.ts"
export type { CallEvent, GateEvents, On, OutcomeEvent } from "./embedded/observers.ts"
export type {
  ActRequest,
  ActResult,
  AddressesResult,
  AuditLogQuery,
  AuditLogResult,
  BlockOutcome,
  BlockRequest,
  FindResult,
  ForgetQuery,
  ForgetResult,
  GateOperator,
  HistoryQuery,
  HistoryResult,
  ViewQuery,
  ViewResult,
} from "./embedded/operator.ts"
export type { OwnIpIntel } from "./embedded/own/ip-intel.ts"
export type { OwnPlatform } from "./embedded/own/platform.ts"
export type { OwnStore } from "./embedded/own/store.ts"
export type {
  LaunchRefusal,
  LeaveResult,
  QueuedResult,
  ReadyResult,
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

export { layerGate, layerGatekeeper, layerGatekeeperNoDeps, layerOperator } from "./embedded/layers.ts"
export {
  type Caller,
  Gatekeeper,
  initiateWebSession,
  type RequestError,
} from "./gatekeeper/Gatekeeper.ts"
export type { WebSessionConfig } from "./gatekeeper/web-session.ts"
export { Operator } from "./operator/Operator.ts"

// Requests and outcomes

export { Credential } from "./protocol/credential.ts"
export { PushEvent } from "./protocol/events.ts"
export {
  Blocked,
  Closed,
  Draining,
  FieldIssue,
  InvalidRequest,
  LimitState,
  PlatformUnavailable,
  QueueFull,
  RateLimited,
  StoreUnavailable,
} from "./protocol/refusals.ts"
export { AudioConfiguration, type SessionConfig, SessionRequest, type StartConfig } from "./protocol/request.ts"
export { Queued, type Started } from "./protocol/session-answers.ts"
export {
  isTerminal,
  NotYourTurn,
  TicketId,
  TicketOver,
  TicketState,
  type TicketStatus,
  TicketUnknown,
} from "./protocol/ticket.ts"

// Settings

export { layerSettings, loadSettings } from "./embedded/layers.ts"
export { IP_PROVIDERS, type IpProvider } from "./ip-intel/provider-kinds.ts"
export {
  /** Reads settings from an object in the shape of the settings file. Logs warnings. */
  layerFrom as layerSettingsFrom,
  settingsFrom,
} from "./settings/given.ts"
export type { SettingsSource } from "./settings/load.ts"
export { SettingProblem, SettingsInvalid } from "./settings/problems.ts"
export type { LoadedSettings } from "./settings/reading/resolve.ts"
export { type Campaign, Settings, type SettingsTree } from "./settings/Settings.ts"

// Store

export { layerStore, layerStoreMemory } from "./embedded/layers.ts"
export { parseConnectionString, type RedisConnection } from "./store/connection-string.ts"
export {
  /** The in-process data that rules run on; your own store may use it. */
  MemoryDb,
} from "./store/memory/MemoryDb.ts"
export type { RedisClient } from "./store/redis/host-client.ts"
export {
  /** The shared store on Redis; takes a connection from `parseConnectionString`. */
  layer as layerStoreRedis,
  /** The shared store on the Redis of the host's own client of ioredis. */
  layerClient as layerStoreRedisClient,
} from "./store/redis/lazy.ts"
export { StoreRefused } from "./store/redis/problems.ts"
export { type Ask, type Rule, Store } from "./store/Store.ts"

// Limits and queue

export { Admission, type AdmissionResult, type Admit } from "./admission/Admission.ts"
export { layerAdmissionAtomic, layerAdmissionSeparate, layerFifoQueue, layerRateLimiter } from "./embedded/layers.ts"
export type {
  Admitted,
  AuditLine,
  Doubt,
  Failed,
  Offered,
  /** What `FifoQueue.sessionState` answers. */
  SessionState as QueuedSession,
  Start,
  TicketSnapshot,
  Waiting,
} from "./fifo-queue/answers.ts"
export {
  type Cleared,
  FifoQueue,
  type Heartbeat,
  type HeartbeatEntry,
  type HeartbeatEntry as Touched,
  type Place,
  type Swept,
} from "./fifo-queue/FifoQueue.ts"
export type { Newcomer, Pages, StartFailure } from "./fifo-queue/inputs.ts"
export type { Performed } from "./fifo-queue/operator/actions.ts"
export type { CampaignSnapshot, OperatorQueue } from "./fifo-queue/operator/OperatorQueue.ts"
export type { HeldSlot, WaitingTicket } from "./fifo-queue/operator/schemas.ts"
export type { QueueAction as Action } from "./fifo-queue/rules/operator/act.ts"
export type { AccountCapacity, CampaignContext, StepResult, Withdrawals } from "./fifo-queue/step.ts"
export type { Settlement, SettlementKind } from "./protocol/settlements.ts"
export type { Signal, SignalKind } from "./protocol/signals.ts"
export { RateLimiter } from "./rate-limiter/RateLimiter.ts"

// Addresses

export { IpFacts, IpIntelFailed, IpIntelSetupError, noFacts } from "./ip-intel/facts.ts"
export { IpIntel } from "./ip-intel/IpIntel.ts"
export { canonicalAddress, limitKey } from "./lib/ip/address.ts"
export { clientAddress, type TrustedProxies, trustedProxies } from "./lib/ip/client-address.ts"

// Platform

export { layerPlatformApi } from "./embedded/layers.ts"
export type { VendorWebhook } from "./platform-api/adapter.ts"
export {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  Refused,
  RequestRefused,
  Unavailable,
} from "./platform-api/errors.ts"
export type { Concurrency, SessionState, WebSession } from "./platform-api/model.ts"
export { PlatformApi } from "./platform-api/PlatformApi.ts"
export type { WebhookVerdict } from "./platform-api/webhooks/read.ts"

// Push

export { layerPushLocal, layerPushShared } from "./embedded/layers.ts"
export {
  type CloseReason,
  type Connection,
  type Opened,
  PushChannel,
  TooManyConnections,
} from "./push-channel/PushChannel.ts"

// HTTP

export { AccessLog, type AccessLogService, type Entry as AccessLogEntry } from "./http/access-log/access-log.ts"
export { refuseUpgrade } from "./http/answers/write-answer.ts"
export { GateServer, Listeners, type Options as ListenersOptions } from "./http/Listeners.ts"
export { layerHttpRouter, layerListeners, layerServer } from "./http/layers.ts"
export { ListenFailed } from "./serving/listen-failed.ts"
