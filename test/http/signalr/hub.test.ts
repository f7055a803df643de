/** What a registered ticket gets over the hub, by the stock SignalR client over a real server. */
import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { unavailable } from "../../../src/platform-api/errors.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import * as PushChannel from "../../../src/push-channel/layer.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { hangUp, session } from "../../support/gate.ts"
import { call, post, servedTest, textField } from "../../support/gate-server.ts"
import { connectWidget, registeredWidget } from "./client.ts"

const shared = { push: PushChannel.layerShared }
/** The event of the n-th session. */
const ready = (n: number) => ["SessionReady", { webSocketUrl: session(n).webSocketUrl }] as const

describe.concurrent("the SignalR hub, by the stock client", () => {
  for (const [what, failure] of [
    ["away", unavailable("unreachable", false, "refused")],
    ["failing", unavailable("server_error", false, "HTTP 503")],
  ] as const) {
    servedTest(
      `a ticket whose start found the platform ${what} keeps waiting, and gets no event before SessionReady`,
      {},
      ({ url, world }) =>
        Effect.gen(function* () {
          const { nextEvent } = yield* registeredWidget(url)
          world.initiate = (n) => (n === 2 ? Effect.fail(failure) : Effect.succeed(session(n)))
          yield* hangUp("web-1")
          assert.deepStrictEqual(yield* nextEvent, ready(3))
          assert.lengthOf(world.initiated, 3)
        }),
      {},
      shared,
    )
  }

  servedTest(
    "a registered ticket gets SessionReady when the slot opens, without a start of its own",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const first = yield* post(`${url}/api/session/request`)
        assert.strictEqual(first.body.webSocketUrl, session(1).webSocketUrl)
        const second = yield* post(`${url}/api/session/request`)
        assert.strictEqual(second.body.status, "queued")
        const { nextEvent, register } = yield* connectWidget(url)
        yield* register(textField(second, "uniqueRequestId"))
        yield* post(`${url}/api/webhook/session-ended`, { ConversationSessionId: "conversation-1" })
        assert.deepStrictEqual(yield* nextEvent, ready(2))
        // registering again brings what was missed, and starts nothing twice
        yield* register(textField(second, "uniqueRequestId"))
        assert.deepStrictEqual(yield* nextEvent, ready(2))
      }),
    {},
    shared,
  )

  /** How many starts fail because the store is unavailable. */
  const failing = { starts: 0 }
  const store = Layer.effect(
    Store,
    Effect.map(Store, (inner) =>
      Store.of({
        ...inner,
        run: (rule, ask) =>
          rule.name === "queue.start" && failing.starts-- > 0
            ? Effect.fail(new StoreUnavailable({ message: "away" }))
            : inner.run(rule, ask),
      }),
    ),
  ).pipe(Layer.provide(memory.layer))
  servedTest(
    "a ticket called while the store is unavailable starts when it is back",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const { nextEvent } = yield* registeredWidget(url)
        failing.starts = 2
        yield* hangUp("web-1")
        assert.strictEqual((yield* nextEvent)[0], "SessionReady")
        assert.isBelow(failing.starts, 1)
      }),
    {},
    { ...shared, store },
  )

  servedTest(
    "an unknown ticket is refused with SessionFailed and an error of the invocation",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const { connection, nextEvent } = yield* connectWidget(url)
        const error = yield* Effect.promise(() =>
          connection.invoke("Register", "nobody").then(
            () => "",
            (cause: Error) => cause.message,
          ),
        )
        assert.include(error, "This request doesn't exist")
        assert.strictEqual((yield* nextEvent)[0], "SessionFailed")
      }),
    {},
    shared,
  )

  servedTest(
    "a ticket that was given up elsewhere fails",
    {},
    ({ url }) =>
      Effect.gen(function* () {
        const { nextEvent, ticket } = yield* registeredWidget(url)
        yield* call(`${url}/api/session/${ticket}`, { method: "DELETE" })
        const [name, { message }] = yield* nextEvent
        assert.strictEqual(name, "SessionFailed")
        assert.include(message ?? "", "left")
      }),
    {},
    shared,
  )
})
