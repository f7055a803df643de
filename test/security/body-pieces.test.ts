/**
 * Bodies in pieces of one byte, each of which node keeps as an object of some 400 bytes. Counts the pieces that streams keep, and the bytes
 * that nobody reads, at every endpoint that the definitions have.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { once } from "node:events"
import { createServer, IncomingMessage } from "node:http"
import { connect, type Socket } from "node:net"
import { Readable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll } from "vitest"
import { BLOCK_BYTES, MAX_PIECES } from "../../src/serving/compact-body.ts"
import { GuardedServer } from "../../src/serving/guarded-server.ts"
import { useGates } from "../embedded/support.ts"
import { type Endpoint, surfaceOf } from "../fuzz/surface.ts"
import { eventually } from "../harness/process.ts"
import { eventsOf, waiting } from "../http/push/support.ts"
import { running } from "../platform/running.ts"
import { servedTest } from "../support/gate-server.ts"
import { exchange, statusesOf } from "./raw.ts"

/** All requests of this process by their server's port, and how many pieces each has kept. */
const requests = new Map<number, Array<IncomingMessage>>()
const pieces = new WeakMap<IncomingMessage, number>()
const onRequest = (message: unknown): void => {
  const request: unknown = Reflect.get(Object(message), "request")
  if (!(request instanceof IncomingMessage) || request.socket.localPort === undefined) return
  const { localPort } = request.socket
  requests.set(localPort, [...(requests.get(localPort) ?? []), request])
}
const { push } = Readable.prototype
beforeAll(() => {
  subscribe("http.server.request.start", onRequest)
  Readable.prototype.push = function (this: Readable, ...args) {
    if (this instanceof IncomingMessage && args[0] !== null) pieces.set(this, (pieces.get(this) ?? 0) + 1)
    return push.apply(this, args)
  }
})
afterAll(() => {
  unsubscribe("http.server.request.start", onRequest)
  Readable.prototype.push = push
})

const surface = surfaceOf(1)
const pathOf = ({ path }: Endpoint, prefix = ""): string => prefix + path.replace(/:\w+/g, "x")

const BYTES = 600
const inPieces = (bytes: number, byte = "1"): string => `1\r\n${byte}\r\n`.repeat(bytes)
const head = (method: string, path: string, type = "application/json"): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`

const open = async (port: number, bytes: string): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1")
  socket.on("error", () => {})
  await once(socket, "connect")
  socket.write(bytes)
  return socket
}

/** Every body of the port, with what it should not be: in more pieces than blocks. */
const assertFewPieces = (port: number, count: number): void => {
  const asked = requests.get(port) ?? []
  assert.isAtLeast(asked.length, count)
  for (const request of asked) {
    assert.isAtMost(pieces.get(request) ?? 0, Math.ceil(BYTES / BLOCK_BYTES), `${request.method} ${request.url}`)
  }
}

/** Sends every endpoint such a body, and waits until each is answered. */
const askAll = (port: number, endpoints: ReadonlyArray<readonly [method: string, path: string]>) =>
  Effect.promise(async () => {
    await Promise.all(
      endpoints.map(async ([method, path]) => {
        const answered = await exchange(port, `${head(method, path)}${inPieces(BYTES)}0\r\n\r\n`)
        assert.isAtLeast(statusesOf(answered).length, 1, `${method} ${path}`)
      }),
    )
    assertFewPieces(port, endpoints.length)
  })

describe("a body in pieces of one byte", { timeout: 60_000 }, () => {
  servedTest(
    "is kept in one piece at every endpoint of the gate and its console",
    { Security: { ConsoleToken: "a-token-of-the-console-0123456789" } },
    ({ port }) => {
      const endpoints = [...surface.gate, ...surface.console].map(
        (endpoint) => [endpoint.method, pathOf(endpoint)] as const,
      )
      const others = ["/sessionHub/negotiate", "/widget.js", "/docs", "/nothing"].map((path) => ["POST", path] as const)
      return askAll(port, [...endpoints, ...others])
    },
  )

  it.live("is kept in one piece at every endpoint of the platform and its dashboard", () =>
    Effect.gen(function* () {
      const { platform } = yield* running()
      const endpoints = [...surface.platform, ...surface.dashboard].map(
        (endpoint) => [endpoint.method, pathOf(endpoint)] as const,
      )
      yield* askAll(Number(new URL(platform.origin).port), endpoints)
    }).pipe(Effect.scoped),
  )

  servedTest(
    "is discarded where a route uses none, also behind an event stream that nobody reads",
    {},
    ({ port, url }) =>
      Effect.gen(function* () {
        const stream = new URL(eventsOf(url, yield* waiting)).pathname
        const body = `${inPieces(BYTES)}0\r\n\r\n`
        const routes = surface.gate.filter(({ path }) => !path.includes("webhook"))
        const sockets = yield* Effect.promise(() =>
          Promise.all(
            routes.map((route) =>
              open(
                port,
                head("GET", stream) +
                  body +
                  (head(route.method, pathOf(route)) + body).repeat(4) +
                  head("GET", stream) +
                  body,
              ),
            ),
          ),
        )
        yield* Effect.promise(() =>
          eventually("all have arrived and nothing is held", () => {
            const asked = requests.get(port) ?? []
            return (
              asked.filter(({ complete }) => complete).length >= routes.length * 6 &&
              asked.every(({ readableLength }) => readableLength === 0)
            )
          }),
        )
        for (const socket of sockets) socket.destroy()
      }),
  )

  it("a body in pieces of one byte that nobody reads is kept in blocks, and is the same bytes in the same order", async () => {
    const kept: Array<IncomingMessage> = []
    const server = new GuardedServer({}, {})
    server.on("request", (request) => kept.push(request))
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    assert.isObject(address)
    const text = Array.from({ length: 1_500 }, (_, at) => String.fromCharCode(97 + (at % 26))).join("")
    const long = "x".repeat(2 * BLOCK_BYTES + 5)
    const chunks = [...text, long, ...text].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")
    const socket = await open(Number(Reflect.get(Object(address), "port")), `${head("POST", "/")}${chunks}0\r\n\r\n`)
    await eventually("it has arrived", () => kept[0]?.complete === true)
    const [request] = kept
    assert.isDefined(request)
    const read: Array<Buffer> = await request.toArray()
    assert.isAtMost(read.length, 4)
    assert.strictEqual(Buffer.concat(read).toString(), text + long + text)
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })

  servedTest(
    "is refused with 400, logged, and its connection closed, if the pieces are too many",
    {},
    ({ log, port }) =>
      Effect.promise(async () => {
        const answered = await exchange(port, head("POST", "/api/webhook/session-ended") + inPieces(MAX_PIECES * 1.1))
        assert.deepStrictEqual(statusesOf(answered), [400])
        await eventually("it is logged", () => log().includes('"status":400,"outcome":"too_many_body_pieces"'))
        // large pieces are of no concern
        const large = `10000\r\n${"x".repeat(0x10000)}\r\n0\r\n\r\n`
        assert.deepStrictEqual(statusesOf(await exchange(port, head("POST", "/nothing") + large)), [404])
      }),
  )
})

describe("a body in pieces of one byte, at a gate in a host", () => {
  const gates = useGates()

  it("is kept in one piece by the host's own server", async () => {
    const gate = await gates.create()
    const server = createServer(gate.handler).listen(0, "127.0.0.1")
    await once(server, "listening")
    const port = Number(Reflect.get(Object(server.address()), "port"))
    const answered = await exchange(
      port,
      ["/api/session/request", "/api/session/x/start", "/api/webhook/session-ended", "/api/session/x/relay"]
        .map((path) => `${head("POST", path)}${inPieces(BYTES)}0\r\n\r\n`)
        .join(""),
    )
    assert.lengthOf(statusesOf(answered), 4)
    assertFewPieces(port, 4)
    server.close()
    server.closeAllConnections()
  })

  it("is read as a whole from a Request, and refused if the pieces are too many", async () => {
    const gate = await gates.create()
    const ask = async (text: string) => {
      const body = ReadableStream.from([...text].map((char) => Buffer.from(char)))
      const request = new Request("http://gate.example/api/session/request", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        duplex: "half",
      })
      return (await gate.fetch(request, { address: "127.0.0.1" })).status
    }
    assert.equal(await ask(`{"clientIdentifier":"${"a".repeat(100)}"}`), 200)
    assert.equal(await ask(`{}${" ".repeat(MAX_PIECES * 1.1)}`), 413)
  })
})
