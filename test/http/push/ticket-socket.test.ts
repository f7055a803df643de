/** What a ticket's WebSocket does with the events of `ws`. What a client sees of it is in `websocket.test.ts`. */
import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { BufferedConnection } from "../../../src/http/push/buffered-connection.ts"
import { type OnCommand, TicketSocket, WebSocketTransport } from "../../../src/http/push/websocket-transport.ts"

/** A socket that is served, without a connection; counts how often it was told to terminate and to leave the push channel. */
const served = () => {
  const calls = { terminations: 0, closes: 0, commands: [] as Array<string> }
  const sent = new PassThrough({ encoding: "latin1" })
  const opened = {
    send: () => {},
    close: () => {
      calls.closes++
    },
  }
  class Socket extends TicketSocket {
    override terminate(): void {
      calls.terminations++
    }
  }
  // without an address it is a server's WebSocket, as `WebSocketServer` makes it
  const socket: TicketSocket = Reflect.construct(Socket, [null, undefined, {}])
  Object.defineProperty(socket, "readyState", { value: TicketSocket.OPEN })
  const onCommand: OnCommand = (_, { type }) => void calls.commands.push(type)
  const transport = new WebSocketTransport(socket, sent, "t", opened, new BufferedConnection(), onCommand)
  socket.serve(transport)
  return { socket, transport, calls, sent }
}

describe("a ticket's WebSocket", () => {
  it("is dead if nothing came since the last ping, and alive after a pong or a message", () => {
    const { calls, sent, socket, transport } = served()
    assert.isTrue(transport.isAnswered())
    assert.isTrue(transport.ping())
    assert.isFalse(transport.isAnswered())
    assert.isFalse(transport.ping())
    socket.emit("pong", Buffer.alloc(0))
    assert.isTrue(transport.isAnswered())
    assert.isTrue(transport.ping())
    socket.emit("message", Buffer.from('{"type":"leave"}'), false)
    assert.isTrue(transport.ping())
    assert.deepStrictEqual([sent.read(), calls.commands], ["\x89\x00".repeat(3), ["leave"]])
  })

  it("is terminated by an error", () => {
    const { calls, socket } = served()
    assert.isTrue(socket.emit("error", new Error("invalid frame")))
    assert.strictEqual(calls.terminations, 1)
  })

  it("takes no command from a binary message", () => {
    const { calls, socket } = served()
    socket.emit("message", Buffer.from('{"type":"leave"}'), true)
    assert.deepStrictEqual(calls.commands, [""])
  })

  it("leaves the push channel as soon as it has closed, and still tells listeners", () => {
    const { calls, socket } = served()
    let closed = false
    socket.on("close", () => {
      closed = true
    })
    socket.emit("close", 1000, Buffer.alloc(0))
    assert.isTrue(closed)
    assert.strictEqual(calls.closes, 1)
  })
})
