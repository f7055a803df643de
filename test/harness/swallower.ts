/**
 * A TCP proxy whose connections can go silent: from then on they pass nothing in either direction, and neither end sees
 * them close. A firewall that has dropped a connection's state behaves like this, or a server that closed a connection
 * whose reset got lost.
 */
import { once } from "node:events"
import { createConnection, createServer, type Socket } from "node:net"
import { Effect } from "effect"

export interface Swallower {
  readonly port: number
  /**
   * Silences the open connections on which a client has sent this text (lower case); with an empty text all of them.
   * With `drop` the server sees its end close, and the client sees nothing. Returns their number.
   */
  readonly swallow: (sent?: string, options?: { readonly drop?: boolean }) => number
  /** while true, new connections are silent from the beginning */
  swallowsNew: boolean
  /** the number of connections so far */
  readonly made: () => number
  readonly dispose: () => Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  sent: string
  silent: boolean
}

/** `port` is where it listens; any free one by default. */
export const startSwallower = async (target: number, port = 0): Promise<Swallower> => {
  const pairs = new Set<Pair>()
  let made = 0

  const swallower = createServer((client) => {
    made++
    const server = createConnection({ host: "127.0.0.1", port: target })
    const pair: Pair = { client, server, sent: "", silent: state.swallowsNew }
    pairs.add(pair)
    client.on("data", (chunk) => {
      if (pair.silent) return
      pair.sent = (pair.sent + chunk.toString("latin1").toLowerCase()).slice(0, 65_536)
      server.write(chunk)
    })
    server.on("data", (chunk) => {
      if (!pair.silent) client.write(chunk)
    })
    for (const [end, other] of [
      [client, server],
      [server, client],
    ] as const) {
      end.on("error", () => end.destroy())
      end.on("close", () => {
        if (pair.silent) return
        pairs.delete(pair)
        other.destroy()
      })
    }
  }).listen(port, "127.0.0.1")

  const state = {
    swallowsNew: false,
    port: 0,
    swallow: (sent = "", { drop = false } = {}): number => {
      const chosen = [...pairs].filter((pair) => !pair.silent && pair.sent.includes(sent))
      for (const pair of chosen) {
        pair.silent = true
        if (drop) pair.server.destroy()
      }
      return chosen.length
    },
    made: () => made,
    dispose: async () => {
      const closed = once(swallower, "close")
      swallower.close()
      for (const { client, server } of pairs) {
        client.destroy()
        server.destroy()
      }
      await closed
    },
  }
  await once(swallower, "listening")
  const address = swallower.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  state.port = address.port
  return state
}

/** One for the lifetime of the scope. */
export const swallower = (target: number, port?: number) =>
  Effect.acquireRelease(
    Effect.promise(() => startSwallower(target, port)),
    (each) => Effect.promise(each.dispose),
  )
