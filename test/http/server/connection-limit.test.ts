/** How many connections an address and a network may have open. */
import { Server } from "node:http"
import { Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { NETWORK_FACTOR } from "../../../src/lib/held.ts"
import { limitConnections } from "../../../src/serving/connection-limit.ts"

const MAX = 3

/** A server to which connections come, each from the address that is given. */
const limited = () => {
  const server = new Server()
  // what node itself does with a connection
  server.removeAllListeners("connection")
  const refused: Array<string> = []
  limitConnections(server, {
    max: MAX,
    trusted: { has: () => false },
    onRefused: (address) => void refused.push(address),
  })
  const connect = (remoteAddress: string): Socket => {
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress })
    server.emit("connection", socket)
    return socket
  }
  return { connect, refused }
}

const networks = {
  "the /64 of an IPv6 /48": (n: number) => `2a02:2450:7:${n.toString(16)}::1`,
  "the addresses of an IPv4 /24": (n: number) => `81.2.69.${n}`,
}

describe("open connections", () => {
  for (const [whose, addressOf] of Object.entries(networks)) {
    it(`of ${whose} are limited together, and one that closes makes room`, () => {
      const { connect, refused } = limited()
      const open: Array<Socket> = []
      for (let n = 0; n < NETWORK_FACTOR; n++) {
        for (let m = 0; m < MAX; m++) open.push(connect(addressOf(n)))
      }
      assert.deepStrictEqual(refused, [])
      const another = addressOf(NETWORK_FACTOR)
      assert.isTrue(connect(another).destroyed)
      assert.deepStrictEqual(refused, [another])
      // another network has its own
      assert.isFalse(connect("93.184.216.34").destroyed)
      for (const socket of open.slice(0, MAX)) socket.emit("close")
      // what was refused does not count
      for (let m = 0; m < MAX; m++) assert.isFalse(connect(another).destroyed)
      assert.isTrue(connect(another).destroyed)
    })
  }

  it("of addresses that are not public have no network", () => {
    const { connect } = limited()
    for (let n = 0; n < 3 * NETWORK_FACTOR; n++) {
      for (let m = 0; m < MAX; m++) assert.isFalse(connect(`10.0.0.${n}`).destroyed)
      assert.isTrue(connect(`10.0.0.${n}`).destroyed)
    }
  })
})
