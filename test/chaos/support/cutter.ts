/**
 * A TCP proxy that cuts connections in the middle of a message, in either direction: of the chunk that it is about to
 * forward a part gets through, then both ends are closed, or reset. It can also go silent: nothing is forwarded and
 * nothing is closed.
 */
import { once } from "node:events"
import { createConnection, createServer, type Socket } from "node:net"
import type { Chance } from "../../harness/chance.ts"

export interface Cutter {
  readonly port: number
  /** how many of a thousand chunks are cut; 0 forwards everything */
  perMille: number
  readonly cuts: () => number
  /** the next message of a client with this text is forwarded, and the connection is cut instead of its answer */
  loseAnswerTo: string | undefined
  /** the next answer to this text is delayed, with all that follows on its connection */
  holdAnswerTo: { readonly text: string; readonly millis: number } | undefined
  /**
   * While true, nothing is forwarded, no connection is closed and a new one leads nowhere, like a path that loses every
   * packet. Afterwards what was sent meanwhile is forwarded, as TCP retransmits it, also from clients that have given
   * up.
   */
  readonly swallow: (on: boolean) => void
  /** cuts all open connections */
  readonly cutAll: () => void
  readonly dispose: () => Promise<void>
}

/** `port` is where it listens; any free one by default. */
export const startCutter = async (target: number, chance: Chance, port = 0): Promise<Cutter> => {
  const open = new Set<() => void>()
  /** pending work for when the path is restored; undefined while it works */
  let swallowed: Array<() => void> | undefined
  let cuts = 0

  const connected = (client: Socket): void => {
    if (swallowed !== undefined) {
      client.pause()
      client.on("error", () => client.destroy())
      swallowed.push(() => {
        connected(client)
        client.resume()
      })
      return
    }
    const server = createConnection({ host: "127.0.0.1", port: target })
    const ends = [client, server]
    const close = (reset: boolean): void => {
      open.delete(cutBoth)
      for (const end of ends) {
        // a socket that is being shut down cannot be reset
        if (reset && !end.connecting && !end.writableEnded) end.resetAndDestroy()
        else end.destroy()
      }
    }
    const cutBoth = (): void => close(true)
    open.add(cutBoth)
    let losing = false
    let holding = 0
    const pass = (from: Socket, to: Socket): void => {
      const come = (chunk: Buffer): void => {
        if (swallowed !== undefined) {
          swallowed.push(() => come(chunk))
          return
        }
        if (from === client && cutter.loseAnswerTo !== undefined && chunk.includes(cutter.loseAnswerTo)) {
          cutter.loseAnswerTo = undefined
          losing = true
        }
        if (from === client && cutter.holdAnswerTo !== undefined && chunk.includes(cutter.holdAnswerTo.text)) {
          holding = cutter.holdAnswerTo.millis
          cutter.holdAnswerTo = undefined
        }
        if (from === server && losing) {
          cuts++
          close(true)
          return
        }
        if (from === server && holding > 0) {
          from.pause()
          setTimeout(() => {
            to.write(chunk)
            from.resume()
          }, holding)
          holding = 0
          return
        }
        if (chance.below(1_000) < cutter.perMille) {
          cuts++
          from.pause()
          const reset = chance.percent(50)
          to.write(chunk.subarray(0, chance.below(chunk.length)), () => close(reset))
          return
        }
        if (!to.write(chunk)) from.pause()
      }
      const gone = (): void => {
        if (swallowed === undefined) close(false)
        else swallowed.push(gone)
      }
      from.on("data", come)
      to.on("drain", () => from.resume())
      from.on("error", gone)
      from.on("close", gone)
    }
    pass(client, server)
    pass(server, client)
  }

  const listener = createServer(connected).listen(port, "127.0.0.1")
  await once(listener, "listening")
  const address = listener.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  const cutter: Cutter = {
    port: address.port,
    perMille: 0,
    loseAnswerTo: undefined,
    holdAnswerTo: undefined,
    cuts: () => cuts,
    swallow: (on) => {
      const held = swallowed ?? []
      swallowed = on ? held : undefined
      if (!on) for (const each of held) each()
    },
    cutAll: () => {
      for (const cut of [...open]) cut()
    },
    dispose: async () => {
      const closed = once(listener, "close")
      listener.close()
      cutter.swallow(false)
      cutter.cutAll()
      await closed
    },
  }
  return cutter
}
