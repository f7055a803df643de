/** The gate's own server: listening and shutdown. */
import { createServer } from "node:http"
import { expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { GateServer } from "../../../src/http/Listeners.ts"
import * as Listeners from "../../../src/http/server/listeners.ts"
import * as Server from "../../../src/http/server/server.ts"
import { layerLocal } from "../../../src/push-channel/layer.ts"
import { Settings } from "../../../src/settings/Settings.ts"
import { eventually } from "../../harness/process.ts"
import { enqueue, gateLayer, makeWorld, session } from "../../support/gate.ts"
import { post, webSocket } from "../../support/gate-server.ts"

const PRIVATE_METRICS = {
  VoiceAiPlatform: { MaxConcurrency: 2 },
  Server: { Metrics: "private", PrivatePort: 0, PrivateHost: "127.0.0.1" },
}

it.live(
  "a server that stops turns unready, finishes requests in progress and tells push connections to reconnect, within ten seconds",
  () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const scope = yield* Scope.make()
      const app = Server.layer.pipe(
        Layer.provideMerge(Listeners.layer()),
        Layer.provideMerge(gateLayer(world, PRIVATE_METRICS, { push: layerLocal })),
      )
      const context = yield* Layer.buildWithScope(app, scope)
      const { privateUrl, url } = Context.get(context, GateServer)
      yield* post(`${url}/api/session/request`)
      const answer = yield* Deferred.make<void>()
      world.initiate = (n) => Effect.as(Deferred.await(answer), session(n))
      const inFlight = yield* Effect.forkChild(post(`${url}/api/session/request`))
      yield* Effect.promise(() => eventually("the platform is asked", () => world.initiated.length === 2))
      const ticket = yield* Effect.provideContext(enqueue("203.0.113.9"), context)
      const socket = yield* webSocket(`${url}/api/session/${ticket}/events`)

      const began = performance.now()
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Effect.promise(() =>
        eventually("it says that it is not ready", async () => (await fetch(`${url}/health/ready`)).status === 503),
      )
      // the metrics of a gate that stops are read until it has stopped
      expect((yield* Effect.promise(() => fetch(`${privateUrl}/metrics`))).status).toBe(200)
      expect(yield* socket.waitClosed).toBe(1001)
      expect(socket.events.at(-1)?.type).toBe("reconnect")
      // no new connection is accepted
      yield* Effect.promise(() =>
        eventually("it does not accept", () =>
          fetch(`${url}/health/live`).then(
            () => false,
            () => true,
          ),
        ),
      )
      yield* Deferred.succeed(answer, undefined)
      expect((yield* Fiber.join(inFlight)).status).toBe(200)
      yield* Fiber.join(stopping)
      expect(performance.now() - began).toBeLessThan(10_000)
    }).pipe(Effect.scoped),
)

it.live("a port in use is a failure that names the settings", () =>
  Effect.gen(function* () {
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => createServer()),
      (server) => Effect.sync(() => server.close()),
    )
    const port = yield* Server.listen(other, "127.0.0.1", 0)
    const world = makeWorld()
    const gate = gateLayer(world, {}, { push: layerLocal })
    const taken = Layer.effect(
      Settings,
      Effect.map(Settings, (settings) => ({ ...settings, Server: { ...settings.Server, Port: port } })),
    )
    const app = Server.layer.pipe(Layer.provide(taken), Layer.provide(Listeners.layer()), Layer.provide(gate))
    const error = yield* Effect.flip(Effect.scoped(Layer.build(app)))
    expect(error).toMatchObject({ _tag: "ListenFailed", message: expect.stringContaining("Server.Port") })
  }).pipe(Effect.scoped),
)
