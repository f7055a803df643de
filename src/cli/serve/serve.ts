/** Serves the gate until the process is stopped, and makes sure that it exits within nine seconds plus `Server.DrainSeconds`. */
import { setFlagsFromString } from "node:v8"
import { Effect, Layer } from "effect"
import * as Gate from "../../embedded/as-configured.ts"
import * as AccessLog from "../../http/access-log/access-log.ts"
import { CurrentMetricsSource } from "../../http/documents/metrics.ts"
import { GateServer, type Options } from "../../http/Listeners.ts"
import * as Listeners from "../../http/server/listeners.ts"
import * as Server from "../../http/server/server.ts"
import { processFields, standardFormat, toStandardOutput } from "../../lib/log.ts"
import { currentSettings } from "../../settings/current.ts"
import type { SettingsInvalid } from "../../settings/problems.ts"
import type { LoadedSettings } from "../../settings/reading/resolve.ts"
import { Settings } from "../../settings/Settings.ts"
import * as FileDescriptors from "./file-descriptors.ts"
import { frontPage } from "./front-page.ts"
import { sumOfProcesses } from "./metrics-of-processes.ts"
import * as ProcessMetrics from "./process-metrics.ts"
import { isWorker } from "./processes.ts"
import { reloadableGate, reloadOnSignal } from "./reload.ts"
import { hurry } from "./stop-signals.ts"
import { notifyReady } from "./systemd.ts"
import { tracer } from "./traces.ts"

/** The gate behind its own server, with an access log on standard output. Without routes of its own, `/` says what runs there. */
export const server = (options: Options = {}) => serverOf(Gate.layer, options)

const serverOf = <A, E, R>(gate: Layer.Layer<A, E, R>, options: Options = {}) =>
  Server.layer.pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.map(Settings, (tree) =>
          Listeners.layer({ basePath: tree.Server.BasePath, routes: frontPage(tree), ...options }),
        ),
      ),
    ),
    Layer.provideMerge(Layer.merge(ProcessMetrics.layer, FileDescriptors.layer)),
    Layer.provideMerge(gate),
    Layer.provide(isWorker() ? Layer.succeed(CurrentMetricsSource, sumOfProcesses) : Layer.empty),
    Layer.provide(AccessLog.layer(toStandardOutput, standardFormat, processFields)),
  )

/** How long the rest of a shutdown may take after the server has stopped, such as closing the store (ms). */
const REST_MILLIS = 1_000

/**
 * The process exits some time after the stop signal even when something is unfinished, such as a hanging store. Its finalizer runs
 * first, since it is built last.
 */
const forceExit = Effect.gen(function* () {
  const settings = yield* currentSettings
  yield* Effect.addFinalizer(() =>
    Effect.logError("The shutdown did not finish in time; the process exits now.").pipe(
      Effect.andThen(Effect.sync(() => process.exit(1))),
      Effect.delay(Server.STOP_MILLIS + settings().Server.DrainSeconds * 1_000 + REST_MILLIS),
      Effect.forkDetach,
    ),
  )
})

/**
 * Otherwise V8 soon allocates some of a request's objects in the old generation, because many of them survive while the heap is small.
 * There they outlive the request and keep alive all that they refer to, so each minor collection copies megabytes of garbage
 * (measured: 5 ms every 250 ms under load, instead of 1 ms).
 *
 * It is set after the start: V8 refuses the cached code of Node's own modules once an option has changed (measured: a start takes 10 to
 * 20 % longer).
 */
const allocateInTheYoungGeneration = Effect.sync(() => setFlagsFromString("--no-allocation-site-pretenuring"))

const announce = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* forceExit
    const { privateUrl, url } = yield* GateServer
    const { Campaigns, IpIntel, Server: server } = yield* Settings
    if (privateUrl !== undefined) yield* Effect.logInfo(`Private endpoints are served at ${privateUrl}`)
    const names = `campaign${Campaigns.length === 1 ? "" : "s"} ${Campaigns.map(({ name }) => name).join(", ")}`
    const checked = IpIntel.Provider === "none" ? "not checked" : `checked by ${IpIntel.Provider}`
    yield* reloadOnSignal
    const docs = server.Docs === "public" ? `; documentation: ${url}${server.BasePath}/docs` : ""
    yield* Effect.logInfo(`voicegate listens at ${url}${server.BasePath} for ${names}; addresses are ${checked}${docs}`)
    yield* allocateInTheYoungGeneration
    yield* notifyReady
  }),
)

/** @param load reads the settings again, for a reload */
export const serve = (load: Effect.Effect<LoadedSettings, SettingsInvalid>) =>
  Layer.launch(announce.pipe(Layer.provide(serverOf(reloadableGate(load))), Layer.provide([tracer, hurry])))
