/**
 * The gate for hosts without Effect: promises, plain objects, and listeners for the host's own server. Expected outcomes are
 * values; a promise rejects only after an internal error of the gate, or after `close`.
 */
import { Effect, Layer, Logger, ManagedRuntime, Result, Stream } from "effect"
import * as GateLayer from "../Gate.ts"
import { Gatekeeper, type WebSessionConfig } from "../Gatekeeper.ts"
import { requestOf } from "../gatekeeper/web-session.ts"
import { Listeners, layer as listenersLayer } from "../http/listeners.ts"
import { DRAIN_MILLIS } from "../http/server.ts"
import { canonicalAddress } from "../ip-intel/address.ts"
import * as Log from "../log.ts"
import { PushChannel } from "../PushChannel.ts"
import type { PushEvent } from "../Session.ts"
import { layerFrom } from "../settings/load.ts"
import { unknownFields } from "../unknown-field.ts"
import { eventsOf } from "./events.ts"
import { type Fetch, makeFetch } from "./fetch.ts"
import { type Handler, makeMount, normalizeBasePath, type PrivateHandler, type UpgradeHandler } from "./mount.ts"
import { layerObserved, Observers, type On, layer as observersLayer } from "./observers.ts"
import * as results from "./results.ts"
import type { GateSettings } from "./settings.ts"

/** The caller: an IPv4 or IPv6 address in any form, such as Express's `req.ip` or a socket's `remoteAddress`. */
export interface Client {
  readonly address: string | undefined
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
}

const OPTIONS = { basePath: true, log: true } satisfies { readonly [K in keyof Required<GateOptions>]: true }

/** A running gate. Its methods do not use `this`, so each may be passed as a function. */
export interface Gate {
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
  /** Makes a session request; `body` is what a browser would send. */
  readonly request: (body: unknown, client: Client) => Promise<results.RequestResult>
  /** The platform's `InitiateWebSession` through the gate: a WebSocket URL, a place in the queue, or a refusal. */
  readonly initiateWebSession: (config: WebSessionConfig, client: Client) => Promise<results.RequestResult>
  /** Starts the session of a called ticket. Idempotent while the session runs. */
  readonly start: (ticket: string) => Promise<results.StartResult>
  /** Gives up a place or a reserved slot; idempotent. A running call ends with its session. */
  readonly leave: (ticket: string) => Promise<results.LeaveResult>
  /** The state of a ticket. Counts as presence: a ticket without a connection must call it within the disconnect grace. */
  readonly status: (ticket: string) => Promise<results.StatusResult>
  /**
   * The ticket's events, beginning with its state. While they are read, the ticket counts as present. They end when the ticket ends, the
   * gate closes, or the loop is left; then the place is kept for the disconnect grace.
   */
  readonly events: (ticket: string) => AsyncIterable<PushEvent>
  /** Whether the gate can serve: false while its store or the campaigns' slots are unknown, and from `close` on. */
  readonly ready: () => Promise<results.ReadyResult>
  /**
   * Calls a listener for each outcome of a session request (`outcome`), or for each call that begins or ends (`call`), whoever asked.
   * Listeners run after the answer; a failure is logged and costs the caller nothing. Returns a function that removes the listener.
   */
  readonly on: On
  /** Reports that a session has ended, by any of its ids, when the host itself receives the platform's webhook. */
  readonly sessionEnded: (sessionIds: string | ReadonlyArray<string>) => Promise<results.SessionEndedResult>
  /**
   * Tells open connections to reconnect to another instance, waits for requests in flight (at most 7 seconds) and shuts the gate
   * down. A start that the platform has not answered after 4 seconds fails. Idempotent. The host closes its own server.
   */
  readonly close: () => Promise<void>
}

/** How often `close` checks whether requests are in flight. */
const DRAIN_POLL_MILLIS = 20

const levels: Readonly<Record<string, LogEntry["level"]>> = {
  Fatal: "error",
  Error: "error",
  Warn: "warn",
  Info: "info",
}

const logTo = (log: (entry: LogEntry) => void): Layer.Layer<never> =>
  Logger.layer([
    Logger.make<unknown, void>((options) => {
      const message = Log.messageOf(options)
      const { annotations, cause } = Log.detailsOf(options)
      log({
        level: levels[options.logLevel] ?? "debug",
        message: cause === undefined ? message : `${message} ${cause}`,
        ...(annotations === undefined ? {} : { annotations }),
      })
    }),
  ])

/** The body as JSON: a field that is undefined is absent. */
const asJson = (body: unknown): unknown => JSON.parse(JSON.stringify(body) ?? "null")

/**
 * Starts a gate with these settings, which are checked like a settings file. Does not read the environment.
 *
 * Rejects with `SettingsInvalid`, whose message has one line per problem; with `StoreRefused`, `IpIntelSetupError` or
 * `CapacityUnknown` when a valid setting does not work; and with a `TypeError` for a wrong `basePath` or an unknown option.
 */
export const createGate = async (settings: GateSettings, options: GateOptions = {}): Promise<Gate> => {
  const unknown = unknownFields(options, Object.keys(OPTIONS))
  if (unknown.length > 0) {
    throw new TypeError(unknown.map(({ field, message }) => `options.${field}: ${message}`).join("\n"))
  }
  const basePath = normalizeBasePath(options.basePath)
  const runtime = ManagedRuntime.make(
    listenersLayer({ basePath }).pipe(
      Layer.provideMerge(layerObserved),
      Layer.provideMerge(Layer.merge(GateLayer.layer, observersLayer)),
      Layer.provideMerge(layerFrom({ ...settings }, { embedded: true })),
      Layer.provideMerge(options.log === undefined ? Log.layerStandardOutput : logTo(options.log)),
    ),
  )
  const { channel, context, gatekeeper, listeners, observers } = await runtime
    .runPromise(
      Effect.all({
        channel: PushChannel,
        context: Effect.context<never>(),
        gatekeeper: Gatekeeper,
        listeners: Listeners,
        observers: Observers,
      }),
    )
    .catch(async (error: unknown) => {
      await runtime.dispose()
      throw error
    })

  let closing: Promise<void> | undefined
  let inFlight = 0

  const run = async <A>(effect: Effect.Effect<A>): Promise<A> => {
    if (closing !== undefined) throw new Error("The gate is closed.")
    inFlight++
    try {
      return await runtime.runPromise(effect)
    } finally {
      inFlight--
    }
  }

  const request: Gate["request"] = async (body, client) => {
    const address = client.address === undefined ? undefined : canonicalAddress(client.address)
    if (address === undefined) return results.noClientAddress()
    return await run<results.RequestResult>(
      Effect.match(gatekeeper.request(asJson(body), { address }), {
        onFailure: (error) => results.notStarted(error, basePath),
        onSuccess: results.started,
      }),
    )
  }

  const drain = Effect.sleep(DRAIN_POLL_MILLIS).pipe(
    Effect.repeat({ while: () => inFlight > 0 }),
    Effect.timeoutOption(DRAIN_MILLIS),
  )
  const { handler, privateHandler, upgrade } = makeMount(listeners, basePath, {
    isClosed: () => closing !== undefined,
    onRequest: (response) => {
      if (response.destroyed) return
      inFlight++
      response.once("close", () => {
        inFlight--
      })
    },
  })

  return {
    handler,
    privateHandler,
    upgrade,
    fetch: makeFetch(handler),
    request,
    initiateWebSession: async (config, client) => {
      const body = requestOf(config)
      return Result.isFailure(body) ? results.notStarted(body.failure, basePath) : await request(body.success, client)
    },
    start: (ticket) =>
      run<results.StartResult>(
        Effect.match(gatekeeper.start(ticket), { onFailure: results.startRefused, onSuccess: results.started }),
      ),
    leave: (ticket) =>
      run<results.LeaveResult>(
        Effect.match(gatekeeper.leave(ticket), {
          onFailure: results.storeUnavailable,
          onSuccess: () => ({ status: "left" }),
        }),
      ),
    status: (ticket) =>
      run<results.StatusResult>(
        Effect.match(gatekeeper.status(ticket), {
          onFailure: results.ticketRefused,
          onSuccess: (found) => ({ status: "found", ticket: found }),
        }),
      ),
    events: (ticket) =>
      Stream.toAsyncIterableWith(
        Stream.suspend(() =>
          closing === undefined
            ? eventsOf(ticket, gatekeeper, channel)
            : Stream.fromEffect(Effect.die(new Error("The gate is closed."))),
        ),
        context,
      ),
    ready: async () => {
      const problem = closing === undefined ? await run(listeners.notReady) : "The gate is closed."
      return problem === undefined ? { status: "ready" } : results.notReady(problem)
    },
    on: observers.on,
    sessionEnded: (sessionIds) =>
      run<results.SessionEndedResult>(
        Effect.match(gatekeeper.sessionEnded(typeof sessionIds === "string" ? [sessionIds] : sessionIds), {
          onFailure: results.storeUnavailable,
          onSuccess: (released) => ({ status: "accepted", released }),
        }),
      ),
    close: () => {
      closing ??= runtime
        .runPromise(Effect.all([listeners.drain, drain], { concurrency: "unbounded", discard: true }))
        .then(() => runtime.dispose())
      return closing
    },
  }
}
