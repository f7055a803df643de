/** Serves the gate until the process is told to stop, and sees to it that the process is gone within ten seconds then. */
import { Effect, Layer } from "effect"
import * as Gate from "../Gate.ts"
import * as AccessLog from "../http/access-log.ts"
import * as Listeners from "../http/listeners.ts"
import * as Server from "../http/server.ts"
import { formatFor, toStandardOutput } from "../log.ts"
import { Settings } from "../Settings.ts"

/** The gate behind its own server, with an access log on standard output. */
export const server = (options: Listeners.Options = {}) =>
  Server.layer.pipe(
    Layer.provide(Listeners.layer(options)),
    Layer.provide(Gate.layer),
    Layer.provide(AccessLog.layer(toStandardOutput, formatFor(process.stdout))),
  )

/** So long (ms) after the process was told to stop it ends, whatever is not over: a store that does not answer, say. */
const GONE_MILLIS = 9_500

/** Ended before all else, since it was built last. */
const insistOnTheEnd = Effect.addFinalizer(() =>
  Effect.logError("Not everything was over in time; the process ends all the same.").pipe(
    Effect.andThen(Effect.sync(() => process.exit(1))),
    Effect.delay(GONE_MILLIS),
    Effect.forkDetach,
  ),
)

const announce = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* insistOnTheEnd
    const { privateUrl, url } = yield* Server.GateServer
    const { Campaigns, IpIntel } = yield* Settings
    if (privateUrl !== undefined) yield* Effect.logInfo(`What is private is served at ${privateUrl}`)
    const names = Campaigns.map(({ name }) => name).join(", ")
    const checked = IpIntel.Provider === "none" ? "not checked" : `checked by ${IpIntel.Provider}`
    yield* Effect.logInfo(`voicegate listens at ${url} for ${names}; addresses are ${checked}`)
  }),
)

export const serve = Layer.launch(announce.pipe(Layer.provide(server())))
