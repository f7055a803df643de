/** A widget that disconnects before the hub has restored its ticket. */
import { once } from "node:events"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { WebSocket } from "ws"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { begin, enqueue } from "../../support/gate.ts"
import { post, serveGate } from "../../support/gate-server.ts"

const frame = (record: object): string => `${JSON.stringify(record)}\u001e`

it.live("a ticket is not held by a connection that closed during its lookup", () =>
  Effect.gen(function* () {
    let recalls = 0
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
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
    const {
      context,
      served: { connected: tickets, port },
    } = yield* serveGate({}, {}, { store })
    const connected = (what: string, many: number) =>
      Effect.promise(() => eventually(what, async () => (await Effect.runPromise(tickets)).length === many))
    const negotiated = yield* post(`http://127.0.0.1:${port}/sessionHub/negotiate?negotiateVersion=1`)
    const [cookie = ""] = (negotiated.headers.get("set-cookie") ?? "").split(";")
    const open = async (...records: ReadonlyArray<object>): Promise<WebSocket> => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/sessionHub`, { headers: { cookie } })
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
    release()
    yield* Effect.sleep(50)
    assert.deepStrictEqual(yield* tickets, [])
  }).pipe(Effect.scoped),
)
