/** A cap on the open connections of one address: each costs memory here whatever it asks. One too many is closed at once. */
import type { Server } from "node:http"
import { makeConnectionCounter } from "../connection-counter.ts"
import { parseAddress } from "../ip-intel/address.ts"
import type { TrustedProxies } from "../ip-intel/client-address.ts"

export interface Cap {
  /** connections of one address (IPv6 by /64) */
  readonly most: number
  /** not counted: a proxy's connections are those of many callers */
  readonly trusted: TrustedProxies
  /** hears the address of every connection that was closed */
  readonly refused: (address: string) => void
}

/** Caps a server's connections, upgraded ones included. Each process counts its own. */
export const capConnections = (server: Server, { most, refused, trusted }: Cap): void => {
  const open = makeConnectionCounter(most)
  server.on("connection", (socket) => {
    const address = parseAddress(socket.remoteAddress ?? "")
    if (address === undefined || trusted.has(address)) return
    const { limitKey } = address
    if (open.acquire(limitKey)) {
      socket.once("close", () => open.release(limitKey))
    } else {
      socket.destroy()
      refused(address.text)
    }
  })
}
