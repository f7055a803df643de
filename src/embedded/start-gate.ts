/** Starts the gate of `createGate`: its layers on a runtime of its own, and its methods over their services. */
import { Effect, Layer, Logger, ManagedRuntime, Result, Stream } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { type Caller, Gatekeeper, type RequestError } from "../gatekeeper/Gatekeeper.ts"
import { asWritten, requestOf } from "../gatekeeper/web-session.ts"
import { Listeners } from "../http/Listeners.ts"
import { layer as listenersLayer } from "../http/server/listeners.ts"
import { DRAIN_MILLIS } from "../http/server/server.ts"
import { canonicalAddress } from "../lib/ip/address.ts"
import * as Log from "../lib/log.ts"
import { unknownFields } from "../lib/unknown-field.ts"
import { Operator } from "../operator/Operator.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { layerFrom } from "../settings/given.ts"
import type { Place } from "../settings/reading/resolve.ts"
import { Settings } from "../settings/Settings.ts"
import { connectionOf } from "../store/redis/host-client.ts"
import { layer as redisLayer } from "../store/redis/lazy.ts"
import * as GateLayer from "./as-configured.ts"
import { eventsOf } from "./events.ts"
import { makeFetch } from "./fetch.ts"
import type { Gate, GateOptions, LogEntry } from "./gate.ts"
import { makeMount, normalizeBasePath } from "./mount.ts"
import { layerObserved, Observers, layer as observersLayer } from "./observers.ts"
import { makeOperator } from "./operator.ts"
import { ownIpIntel } from "./own/ip-intel.ts"
import { ownPlatform } from "./own/platform.ts"
import { ownStore } from "./own/store.ts"
import * as results from "./results.ts"
import type { GateSettings } from "./settings.ts"

const OPTIONS = { basePath: true, log: true, ipIntel: true, store: true, redis: true, platform: true } satisfies {
  readonly [K in keyof Required<GateOptions>]: true
}

/** What the settings require of a platform, for one that is called through the host. */
const OWN_PLATFORM = { ApiSecretToken: "the-host-has-its-own-platform", BaseUrl: "https://platform.invalid/" }

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

/** A field that is undefined is absent. */
const asJson = (body: unknown): unknown => JSON.parse(JSON.stringify(body) ?? "null")

/** The caller's canonical address; undefined without one, as when a host in JavaScript passes no second argument. */
const addressOf = (client: unknown): string | undefined => {
  const { address }: { readonly address?: unknown } = Object(client)
  return typeof address === "string" ? canonicalAddress(address) : undefined
}

/** What the host says of who calls, which the gate checks; undefined where it says nothing. */
const identityOf = (client: unknown): Caller["identity"] => {
  const { identity }: { readonly identity?: Caller["identity"] | null } = Object(client)
  return identity ?? undefined
}

/** Empty if it is no text. */
const ticketOf = (ticket: unknown): string => (typeof ticket === "string" ? ticket : "")

/** The ids that a host reports; what is no text is left out. */
const sessionIdsOf = (ids: unknown): ReadonlyArray<string> =>
  (Array.isArray(ids) ? ids : [ids]).filter((id) => typeof id === "string")

/** The store of the host, or on the Redis of its client; undefined for that of the settings. */
const storeOf = ({ redis, store }: GateOptions): GateLayer.OwnServices["store"] => {
  if (redis === undefined) return store === undefined ? undefined : ownStore(store)
  if (store !== undefined) throw new TypeError("options.redis: Expected either redis or store, not both.")
  const connection = connectionOf(redis, "options.redis")
  if (Result.isFailure(connection)) throw new TypeError(`options.redis: ${connection.failure}`)
  return redisLayer(connection.success)
}

const servicesOf = (
  { ipIntel, platform }: GateOptions,
  store: GateLayer.OwnServices["store"],
): GateLayer.OwnServices => ({
  ...(ipIntel === undefined ? {} : { ipIntel: ownIpIntel(ipIntel) }),
  ...(platform === undefined ? {} : { platform: ownPlatform(platform) }),
  ...(store === undefined ? {} : { store }),
})

/** The settings, which need no key and no address of the platform if it is the host's own. */
const settingsOf = (settings: GateSettings, { platform }: GateOptions): Readonly<Record<string, unknown>> =>
  platform === undefined
    ? { ...settings }
    : { ...settings, VoiceAiPlatform: { ...OWN_PLATFORM, ...settings.VoiceAiPlatform } }

const placeOf = ({ ipIntel, platform, redis, store }: GateOptions): Place => ({
  embedded: true,
  own: { ipIntel: ipIntel !== undefined, platform: platform !== undefined, store: (redis ?? store) !== undefined },
})

/** As `createGate`. */
export const startGate = async (settings: GateSettings, options: GateOptions): Promise<Gate> => {
  const unknown = unknownFields(options, Object.keys(OPTIONS))
  if (unknown.length > 0) {
    throw new TypeError(unknown.map(({ field, message }) => `options.${field}: ${message}`).join("\n"))
  }
  const basePath = normalizeBasePath(options.basePath)
  const services = servicesOf(options, storeOf(options))
  const runtime = ManagedRuntime.make(
    listenersLayer({ basePath }).pipe(
      Layer.provideMerge(layerObserved),
      Layer.provideMerge(Layer.merge(GateLayer.layerWith(services), observersLayer)),
      Layer.provideMerge(layerFrom(settingsOf(settings, options), placeOf(options))),
      Layer.provideMerge(options.log === undefined ? Log.layerStandardOutput : logTo(options.log)),
    ),
  )
  const { channel, context, gatekeeper, listeners, observers, operator, tree } = await runtime
    .runPromise(
      Effect.all({
        channel: PushChannel,
        context: Effect.context<never>(),
        gatekeeper: Gatekeeper,
        listeners: Listeners,
        observers: Observers,
        operator: Operator,
        tree: Settings,
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

  /** @param rename names the fields of an error as the host has written them */
  const requested = async (
    body: unknown,
    client: unknown,
    rename = (error: RequestError): RequestError => error,
  ): Promise<results.RequestResult> => {
    const address = addressOf(client)
    if (address === undefined) return results.noClientAddress()
    return await run<results.RequestResult>(
      Effect.match(gatekeeper.request(asJson(body), { address, identity: identityOf(client) }), {
        onFailure: (error) => results.notStarted(rename(error), basePath),
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

  const close: Gate["close"] = () => {
    closing ??= runtime
      .runPromise(Effect.all([listeners.drain, drain], { concurrency: "unbounded", discard: true }))
      .then(() => runtime.dispose())
    return closing
  }

  return {
    handler,
    privateHandler,
    upgrade,
    fetch: makeFetch(handler),
    request: (body, client) => requested(body, client),
    initiateWebSession: async (config, client) => {
      const body = requestOf(config)
      return Result.isFailure(body)
        ? results.notStarted(body.failure, basePath)
        : await requested(body.success, client, asWritten)
    },
    start: (ticket) =>
      run<results.StartResult>(
        Effect.match(gatekeeper.start(ticketOf(ticket)), {
          onFailure: results.startRefused,
          onSuccess: results.started,
        }),
      ),
    leave: (ticket) =>
      run<results.LeaveResult>(
        Effect.match(gatekeeper.leave(ticketOf(ticket)), {
          onFailure: results.storeUnavailable,
          onSuccess: () => ({ status: "left" }),
        }),
      ),
    status: (ticket) =>
      run<results.StatusResult>(
        Effect.match(gatekeeper.status(ticketOf(ticket)), {
          onFailure: results.ticketRefused,
          onSuccess: (found) => ({ status: "found", ticket: found }),
        }),
      ),
    events: (ticket) =>
      Stream.toAsyncIterableWith(
        Stream.suspend(() =>
          closing === undefined
            ? eventsOf(ticketOf(ticket), gatekeeper, channel)
            : Stream.fromEffect(Effect.die(new Error("The gate is closed."))),
        ),
        context,
      ),
    ready: async () => {
      const problem = closing === undefined ? await run(listeners.notReady) : "The gate is closed."
      return problem === undefined ? { status: "ready" } : results.notReady(problem)
    },
    on: observers.on,
    operator: makeOperator(operator, run, tree.Security.ConsoleToken.length > 0),
    metrics: () => run(Effect.sync(() => PrometheusMetrics.formatUnsafe(context))),
    sessionEnded: (sessionIds) =>
      run<results.SessionEndedResult>(
        Effect.match(gatekeeper.sessionEnded(sessionIdsOf(sessionIds)), {
          onFailure: results.storeUnavailable,
          onSuccess: (released) => ({ status: "accepted", released }),
        }),
      ),
    close,
    [Symbol.asyncDispose]: close,
  }
}
