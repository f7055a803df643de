/** The last hub connection of a ticket wins, and a reconnected widget gets its ticket back whatever stood in the way. */
import { once } from "node:events"
import * as net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { WebSocket } from "ws"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { begin, enqueue, hangUp, session } from "../../support/gate.ts"
import { serveGate } from "../../support/gate-server.ts"

const frame = (record: object): string => `${JSON.stringify(record)}\u001e`
const registerOf = (ticket: string) => ({ type: 1, target: "Register", arguments: [ticket], invocationId: "0" })

interface Page {
  readonly socket: WebSocket
  /** The records that it has received, without pings. */
  readonly records: Array<Record<string, unknown>>
}

/** A way to a port that becomes half open: from `halve` on nothing passes, and neither side is told. */
const halvingProxy = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets: Array<net.Socket> = []
      let isHalf = false
      let end = (): void => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      const proxy = net.createServer((page) => {
        const gate = net.connect(port, "127.0.0.1")
        sockets.push(page, gate)
        for (const [from, to] of [
          [page, gate],
          [gate, page],
        ] as const) {
          from.on("data", (data) => isHalf || to.write(data))
          from.on("error", () => {})
          from.on("end", () => isHalf || to.end())
        }
        gate.on("close", end)
      })
      proxy.listen(0, "127.0.0.1")
      await once(proxy, "listening")
      return {
        port: (proxy.address() as net.AddressInfo).port,
        halve: () => {
          isHalf = true
        },
        /** Resolves when the gate has ended the connection. */
        ended,
        close: () => {
          for (const socket of sockets) socket.destroy()
          proxy.close()
        },
      }
    }),
    ({ close }) => Effect.sync(close),
  )

/** A gate whose store fails as often as `failing` says by the name of a rule, and pages of one browser. */
const browserOf = Effect.gen(function* () {
  const failing = new Map<string, number>()
  const store = Layer.effect(
    Store,
    Effect.map(Store, (inner) => ({
      ...inner,
      run: (rule, ask) => {
        const left = failing.get(rule.name) ?? 0
        failing.set(rule.name, left - 1)
        return left > 0 ? Effect.fail(new StoreUnavailable({ message: "away" })) : inner.run(rule, ask)
      },
    })),
  ).pipe(Layer.provide(memory.layer))
  const { context, served } = yield* serveGate({}, {}, { store })
  const negotiated = yield* Effect.promise(() =>
    fetch(`http://127.0.0.1:${served.port}/sessionHub/negotiate`, { method: "POST" }),
  )
  const [cookie = ""] = (negotiated.headers.get("set-cookie") ?? "").split(";")
  const open = (records: ReadonlyArray<object> = [], port = served.port) =>
    Effect.acquireRelease(
      Effect.promise(async (): Promise<Page> => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/sessionHub`, { headers: { cookie } })
        const page: Page = { socket, records: [] }
        socket.on("message", (data) => {
          for (const text of String(data).split("\u001e")) {
            if (text !== "" && text !== frame({ type: 6 }).slice(0, -1)) page.records.push(JSON.parse(text))
          }
        })
        await once(socket, "open")
        for (const record of [{ protocol: "json", version: 1 }, ...records]) socket.send(frame(record))
        return page
      }),
      ({ socket }) => Effect.sync(() => socket.terminate()),
    )
  const has = (what: string, { records }: Page, isIt: (record: Record<string, unknown>) => boolean) =>
    Effect.promise(() => eventually(what, () => records.some(isIt), 20_000))
  return {
    failing,
    port: served.port,
    open,
    /** A page that has registered the ticket. */
    registered: (ticket: string, port?: number) =>
      Effect.tap(open([registerOf(ticket)], port), (page) => has("it is registered", page, ({ type }) => type === 3)),
    getsReady: (page: Page, webSocketUrl: string) =>
      has("it gets SessionReady", page, ({ target }) => target === "SessionReady").pipe(
        Effect.andThen(
          Effect.sync(() => {
            const ready = page.records.find(({ target }) => target === "SessionReady")
            assert.deepStrictEqual(ready?.arguments, [{ webSocketUrl }])
          }),
        ),
      ),
    targets: ({ records }: Page) => records.flatMap(({ target }) => (target === undefined ? [] : [target])),
    waiting: Effect.provideContext(Effect.andThen(begin(), enqueue()), context),
    another: Effect.provideContext(enqueue(), context),
    hangUp: (session: string) => Effect.provideContext(hangUp(session), context),
  }
})

describe.concurrent("the SignalR hub, of a page that has two connections", () => {
  for (const [when, isCalledFirst] of [
    ["before it is called", false],
    ["after it was called", true],
  ] as const) {
    it.live(`a page whose old connection is half open, and that reconnects ${when}, gets SessionReady`, () =>
      Effect.gen(function* () {
        const { getsReady, hangUp: freeSlot, open, port, registered, waiting } = yield* browserOf
        const path = yield* halvingProxy(port)
        yield* registered(yield* waiting, path.port)
        path.halve()
        if (isCalledFirst) yield* freeSlot("web-1")
        const page = yield* open()
        if (!isCalledFirst) {
          // the gate ends the old connection as soon as the new one has its ticket
          yield* Effect.promise(() => path.ended)
          yield* freeSlot("web-1")
        }
        yield* getsReady(page, session(2).webSocketUrl)
      }).pipe(Effect.scoped),
    )
  }

  it.live("a ticket that a second connection registers has the second one only", () =>
    Effect.gen(function* () {
      const { getsReady, hangUp: freeSlot, registered, targets, waiting } = yield* browserOf
      const ticket = yield* waiting
      const old = yield* registered(ticket)
      const closed = once(old.socket, "close")
      const page = yield* registered(ticket)
      yield* Effect.promise(() => closed)
      // without allowReconnect, so that the two do not take the ticket from each other
      assert.deepStrictEqual(old.records.at(-1), { type: 7 })
      yield* freeSlot("web-1")
      yield* getsReady(page, session(2).webSocketUrl)
      assert.deepStrictEqual(targets(old), [])
    }).pipe(Effect.scoped),
  )

  it.live(
    "a page that reconnects gets the ticket of its lost connection, and not that of another page of the browser",
    () =>
      Effect.gen(function* () {
        const { getsReady, hangUp: freeSlot, open, registered, targets, waiting, another } = yield* browserOf
        const first = yield* registered(yield* waiting)
        const second = yield* registered(yield* another)
        second.socket.pause()
        const again = yield* open()
        yield* freeSlot("web-1")
        yield* getsReady(first, session(2).webSocketUrl)
        yield* freeSlot("web-2")
        yield* getsReady(again, session(3).webSocketUrl)
        assert.lengthOf(
          targets(first).filter((target) => target === "SessionReady"),
          1,
        )
      }).pipe(Effect.scoped),
  )
})

describe.concurrent("the SignalR hub, while the store is unavailable", () => {
  for (const rule of ["hub.recall", "queue.attach", "hub.remember"]) {
    it.live(`a page that reconnects in an outage gets its ticket after it (${rule} fails)`, () =>
      Effect.gen(function* () {
        const { failing, getsReady, hangUp: freeSlot, open, registered, targets, waiting } = yield* browserOf
        const old = yield* registered(yield* waiting)
        failing.set(rule, 4)
        const page = yield* open()
        old.socket.terminate()
        yield* freeSlot("web-1")
        yield* getsReady(page, session(2).webSocketUrl)
        assert.deepStrictEqual(targets(page), ["SessionReady"])
      }).pipe(Effect.scoped),
    )
  }

  for (const rule of ["queue.attach", "hub.remember"]) {
    it.live(`a page that registers in an outage is registered after it, and hears of no failure (${rule} fails)`, () =>
      Effect.gen(function* () {
        const { failing, getsReady, hangUp: freeSlot, registered, targets, waiting } = yield* browserOf
        const ticket = yield* waiting
        failing.set(rule, 4)
        const page = yield* registered(ticket)
        assert.isUndefined(page.records.find(({ type }) => type === 3)?.error)
        yield* freeSlot("web-1")
        yield* getsReady(page, session(2).webSocketUrl)
        assert.deepStrictEqual(targets(page), ["SessionReady"])
      }).pipe(Effect.scoped),
    )
  }
})
