/**
 * A TCP proxy that cuts connections in the middle of a message, in either direction: of the chunk that it is about to pass on,
 * a part gets through, then both ends are closed, or reset.
 */
import { once } from "node:events"
import { createConnection, createServer, type Socket } from "node:net"
import type { Chance } from "../../simulation/chance.ts"

export interface Cutter {
  readonly port: number
  /** of a thousand chunks so many are cut; 0 passes everything on */
  perMille: number
  readonly cuts: () => number
  /** cuts all connections that stand */
  readonly cutAll: () => void
  readonly dispose: () => Promise<void>
}

export const startCutter = async (target: number, chance: Chance): Promise<Cutter> => {
  const open = new Set<() => void>()
  let cuts = 0

  const connected = (client: Socket): void => {
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
    const pass = (from: Socket, to: Socket): void => {
      from.on("data", (chunk: Buffer) => {
        if (chance.below(1_000) < cutter.perMille) {
          cuts++
          from.pause()
          const reset = chance.percent(50)
          to.write(chunk.subarray(0, chance.below(chunk.length)), () => close(reset))
          return
        }
        if (!to.write(chunk)) from.pause()
      })
      to.on("drain", () => from.resume())
      from.on("error", () => close(false))
      from.on("close", () => close(false))
    }
    pass(client, server)
    pass(server, client)
  }

  const listener = createServer(connected).listen(0, "127.0.0.1")
  await once(listener, "listening")
  const address = listener.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  const cutter: Cutter = {
    port: address.port,
    perMille: 0,
    cuts: () => cuts,
    cutAll: () => {
      for (const cut of [...open]) cut()
    },
    dispose: async () => {
      const closed = once(listener, "close")
      listener.close()
      cutter.cutAll()
      await closed
    },
  }
  return cutter
}
