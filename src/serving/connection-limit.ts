/**
 * Limits the open connections of an address, and of a network, because each costs memory and a file descriptor. Connections beyond the limit are
 * closed at once.
 */
import type { Server } from "node:http"
import { makeHeldByNetwork } from "../lib/held.ts"
import { parseAddress } from "../lib/ip/address.ts"
import type { TrustedProxies } from "../lib/ip/client-address.ts"

export interface ConnectionLimit {
  /** maximum connections of an address (IPv6: of a /64); a network may have `NETWORK_FACTOR` times as many */
  readonly max: number
  /** not limited, because a proxy's connections belong to many callers */
  readonly trusted: TrustedProxies
  /** called with the address of each connection that is closed */
  readonly onRefused: (address: string) => void
}

/** Limits a server's connections, upgraded ones included. Each process counts separately. */
export const limitConnections = (server: Server, { max, onRefused, trusted }: ConnectionLimit): void => {
  const open = makeHeldByNetwork(max)
  server.on("connection", (socket) => {
    const address = parseAddress(socket.remoteAddress ?? "")
    if (address === undefined || trusted.has(address)) return
    const { limitKey, networkKey } = address
    if (open.acquire(limitKey, networkKey)) {
      socket.once("close", () => open.release(limitKey, networkKey))
    } else {
      socket.destroy()
      onRefused(address.text)
    }
  })
}
