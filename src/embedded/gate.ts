/** What a host without Effect sees of a gate. */

import type { WebSessionConfig } from "../gatekeeper/web-session.ts"
import type { PushEvent } from "../protocol/events.ts"
import type { Identity } from "../protocol/identity.ts"
import type { AudioConfiguration, SessionRequest } from "../protocol/request.ts"
import type { RedisClient } from "../store/redis/host-client.ts"
import type { Fetch } from "./fetch.ts"
import type { Handler, PrivateHandler, UpgradeHandler } from "./mount.ts"
import type { On } from "./observers.ts"
import type { GateOperator } from "./operator.ts"
import type { OwnIpIntel } from "./own/ip-intel.ts"
import type { OwnPlatform } from "./own/platform.ts"
import type { OwnStore } from "./own/store.ts"
import type * as results from "./results.ts"

/** The caller. */
export interface Client {
  /** an IPv4 or IPv6 address in any form, such as Express's `req.ip` or a socket's `remoteAddress` */
  readonly address: string | undefined
  /**
   * who calls, as the host knows by its own sessions: then limits count this subject, and no token is read. It comes from the host, never
   * from the page
   */
  readonly identity?: Identity | undefined
}

/** One line for the host's log; it never contains a secret or a ticket. */
export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error"
  readonly message: string
  /** such as `requestId`; absent when there are none */
  readonly annotations?: Readonly<Record<string, unknown>>
}

export interface GateOptions {
  /** the path where the host mounts the gate, such as `/voice`; by default the root */
  readonly basePath?: string
  /** receives the gate's log; by default it goes to standard output */
  readonly log?: (entry: LogEntry) => void
  /** facts about addresses from the host, instead of `IpIntel.Provider` */
  readonly ipIntel?: OwnIpIntel
  /** the host's own store, instead of `StoreConnectionString` */
  readonly store?: OwnStore
  /**
   * the host's own client of ioredis 5 or 6 (`Redis` or `Cluster`), instead of `StoreConnectionString`. The gate opens connections of its own to
   * the same servers, with the client's user, password, TLS and `keyPrefix`; it neither uses, changes nor closes the client.
   */
  readonly redis?: RedisClient
  /** the host's own platform, instead of `ApiSecretToken` and `BaseUrl` of `VoiceAiPlatform` */
  readonly platform?: OwnPlatform
}

/** The body of a session request, as browsers send it. Null and undefined mean absent. */
export type SessionBody = {
  readonly [K in keyof SessionRequest]?:
    | (K extends "audioConfiguration" ? AudioBody : SessionRequest[K])
    | null
    | undefined
}

type AudioBody = { readonly [K in keyof AudioConfiguration]?: AudioConfiguration[K] | undefined }

/** A running gate. `await using gate = await createGate(…)` closes it at the end of the block. Its methods do not use `this`, so each may be passed as a function. */
export interface Gate extends AsyncDisposable {
  /** Serves the gate's HTTP: `app.use("/voice", gate.handler)`, or a request listener of a node server. */
  readonly handler: Handler
  /**
   * Serves what `Server.Docs` and `Server.Metrics` declare private, for a server that only operators can reach:
   * `createServer(gate.privateHandler).listen(9090, "127.0.0.1")`. The gate itself does not listen.
   */
  readonly privateHandler: PrivateHandler
  /** Serves the gate's WebSockets: `server.on("upgrade", gate.upgrade)`. */
  readonly upgrade: UpgradeHandler
  /**
   * Serves the gate's HTTP for a host with web-standard requests, such as Hono or a route handler:
   * `gate.fetch(request, { address: remoteAddress })`. It has events as Server-Sent Events, and no WebSockets.
   */
  readonly fetch: Fetch
  /**
   * Makes a session request; `body` is what a browser would send, such as the parsed body of its request. It is checked in any case, so a
   * host may pass on what it has not checked: `gate.request(request.body as SessionBody, …)`.
   */
  readonly request: (body: SessionBody, client: Client) => Promise<results.RequestResult>
  /** The platform's `InitiateWebSession` through the gate: a WebSocket URL, a place in the queue, or a refusal. */
  readonly initiateWebSession: (config: WebSessionConfig, client: Client) => Promise<results.RequestResult>
  /** Starts the session of a called ticket. Idempotent while the session runs. */
  readonly start: (ticket: string) => Promise<results.StartResult>
  /** Gives up a place or a reserved slot, or ends a running call where the platform can end it; idempotent. */
  readonly leave: (ticket: string) => Promise<results.LeaveResult>
  /** The state of a ticket. Counts as presence: a ticket without a connection must call it within the disconnect grace. */
  readonly status: (ticket: string) => Promise<results.StatusResult>
  /**
   * The ticket's events, beginning with its state. While they are read, the ticket counts as present. They end when the ticket ends, the
   * gate closes, or the loop is left; then the place is kept for the disconnect grace.
   */
  readonly events: (ticket: string) => AsyncIterable<PushEvent>
  /** Whether the gate can serve: false while its store cannot be reached or the campaigns' slots are unknown, and from `close` on. */
  readonly ready: () => Promise<results.ReadyResult>
  /**
   * Calls a listener for each outcome of a session request (`outcome`), or for each call that begins or ends (`call`), whoever asked.
   * Listeners run after the answer; a failure is logged and costs the caller nothing. Returns a function that removes the listener.
   */
  readonly on: On
  /** What an operator sees and does in the console, for a page or a tool of the host. */
  readonly operator: GateOperator
  /**
   * The gate's metrics in the text format of Prometheus, as `/metrics` serves them, to be joined with those of the host's own registry. All
   * gates of a process share them.
   */
  readonly metrics: () => Promise<string>
  /** Reports that a session has ended, by any of its ids, when the host itself receives the platform's webhook. */
  readonly sessionEnded: (sessionIds: string | ReadonlyArray<string>) => Promise<results.SessionEndedResult>
  /**
   * Tells open connections to reconnect to another instance, waits for requests in flight (at most 7 seconds) and shuts the gate
   * down. A start that the platform has not answered after 4 seconds fails. Idempotent. The host closes its own server.
   */
  readonly close: () => Promise<void>
}
