/**
 * A host that serves with Effect and has the gate on its own `HttpRouter`, beside its own routes. Build first:
 *
 *     npm run build && node scripts/examples/effect-http-host.ts        # serves, at PORT or 3000
 *     node scripts/examples/effect-http-host.ts --once                  # makes two calls with one slot, and exits
 */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, Effect, Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { initiateWebSession, Listeners, layerGate, layerHttpRouter, layerListeners, layerSettingsFrom } from "voicegate"
import { startLocalPlatform } from "voicegate/platform"
import { selfCheck } from "./self-check.ts"

const port = Number(process.env.PORT ?? 3000)
const origin = `http://127.0.0.1:${port}`
const basePath = "/voice"
const webhookToken = randomUUID()

/** The platform on this machine, as the gate's settings. */
const Settings = Layer.unwrap(
  Effect.gen(function* () {
    const webhook = { url: `${origin}${basePath}/api/webhook/session-ended`, token: webhookToken }
    const platform = yield* Effect.acquireRelease(
      Effect.promise(() => startLocalPlatform({ slots: 1, webhook })),
      ({ close }) => Effect.promise(close),
    )
    return layerSettingsFrom({
      StoreConnectionString: "memory:",
      VoiceAiPlatform: platform.settings,
      Security: { WebhookApiToken: webhookToken, BlockVpn: false, BlockProxy: false, BlockTor: false },
    })
  }),
)

/** The gate, outside of `HttpRouter.serve`: the host's routes use the same one. */
const Gate = layerListeners({ basePath }).pipe(Layer.provideMerge(layerGate), Layer.provide(Settings))

const CallMe = Schema.Struct({ name: Schema.optional(Schema.String) })

const Routes = Layer.mergeAll(
  HttpRouter.add("GET", "/", HttpServerResponse.text("The host's own page. The gate is at /voice.\n")),
  HttpRouter.add(
    "POST",
    "/call-me",
    Effect.gen(function* () {
      const { name = "" } = yield* HttpServerRequest.schemaBodyJson(CallMe)
      const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
      const address = Option.getOrElse(remoteAddress, () => "")
      return yield* initiateWebSession({ RegionId: "local", DynamicVariables: { name } }, { address }).pipe(
        Effect.map((talkAt) => HttpServerResponse.jsonUnsafe({ talkAt })),
        Effect.catchTag("Queued", ({ queuePosition, uniqueRequestId }) =>
          Effect.succeed(HttpServerResponse.jsonUnsafe({ position: queuePosition, uniqueRequestId }, { status: 202 })),
        ),
        Effect.catch(({ _tag, message }) =>
          Effect.succeed(HttpServerResponse.jsonUnsafe({ code: _tag, message }, { status: 503 })),
        ),
      )
    }),
  ),
)

/** Sends the waiting callers' connections away before the server closes, which would wait for them. */
const Drain = Layer.effectDiscard(Effect.addFinalizer(() => Listeners.use(({ drain }) => drain)))

const Host = Drain.pipe(
  Layer.provideMerge(HttpRouter.serve(Layer.mergeAll(Routes, layerHttpRouter({ basePath })), { disableLogger: true })),
  Layer.provide(Gate),
  Layer.provide(NodeHttpServer.layer(() => createServer(), { port, host: "127.0.0.1" })),
)

const once = Effect.promise(() => selfCheck(origin)).pipe(Effect.provide(Host))
const serving = Console.log(`Effect listens at ${origin}, the gate at ${origin}${basePath}. Stop with Ctrl-C.`).pipe(
  Effect.andThen(Effect.never),
  Effect.provide(Host),
)

NodeRuntime.runMain(process.argv.includes("--once") ? once : serving)
