/** A widget that disconnects before the hub has restored its ticket. */
import { once } from "node:events"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { WebSocket } from "ws"
import { eventually } from "../../scripts/harness/process.ts"
import * as Listeners from "../../src/http/listeners.ts"
import * as Server from "../../src/http/server.ts"
import { layerLocal, PushChannel } from "../../src/PushChannel.ts"
import { Store } from "../../src/Store.ts"
import * as memory from "../../src/store/memory.ts"
import { begin, enqueue, gateLayer, makeWorld } from "../support/gate.ts"

const COOKIE = { cookie: `voicegate_hub=${"c".repeat(22)}` }
const frame = (record: object): string => `${JSON.stringify(record)}\u001e`

it.live("a ticket is not held by a connection that closed during its lookup", () =>
  Effect.gen(function* () {
    let recalls = 0
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    /** Delays the answer to `hub.recall` until the test releases it. */
    const store = Layer.effect(
      Store,
      Effect.map(Store, (inner) => ({
        ...inner,
        run: (rule, ask) => {
          if (rule.name !== "hub.recall") return inner.run(rule, ask)
          recalls++
          return Effect.andThen(
            Effect.promise(() => held),
            inner.run(rule, ask),
          )
        },
      })),
    ).pipe(Layer.provide(memory.layer))
    const context = yield* Layer.build(
      Listeners.layer().pipe(Layer.provideMerge(gateLayer(makeWorld(), {}, { push: layerLocal, store }))),
    )
    const server = Server.makeServer(Context.get(context, Listeners.Listeners))
    yield* Effect.addFinalizer(() => Effect.sync(() => server.close().closeAllConnections()))
    const port = yield* Server.listen(server, "127.0.0.1", 0)
    const tickets = Context.get(context, PushChannel).tickets
    const connected = (what: string, many: number) =>
      Effect.promise(() => eventually(what, async () => (await Effect.runPromise(tickets)).length === many))
    const open = async (...records: ReadonlyArray<object>): Promise<WebSocket> => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/sessionHub`, { headers: COOKIE })
      await once(socket, "open")
      for (const record of [{ protocol: "json", version: 1 }, ...records]) socket.send(frame(record))
      return socket
    }

    const ticket = yield* Effect.provideContext(Effect.andThen(begin(), enqueue()), context)
    const first = yield* Effect.promise(() => open({ type: 1, target: "Register", arguments: [ticket] }))
    yield* connected("it is registered", 1)
    first.terminate()
    yield* connected("it is gone", 0)

    const second = yield* Effect.promise(() => open())
    yield* Effect.promise(() => eventually("its ticket is looked for", () => recalls === 1))
    second.terminate()
    // the hub has noticed when it answers something that was sent later
    const third = yield* Effect.promise(() => open())
    yield* Effect.promise(() => once(third, "message"))
    third.terminate()
    letGo()
    yield* Effect.sleep(50)
    assert.deepStrictEqual(yield* tickets, [])
  }).pipe(Effect.scoped),
)
