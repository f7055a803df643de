/** This machine's own addresses: of a socket's other end, and of a server that only programs on this machine reach. */
import ipaddr from "ipaddr.js"

/** Whether an address, or the host of a server, is loopback, IPv4-mapped included. */
export const isLoopback = (host: string | undefined): boolean =>
  host !== undefined &&
  (host.toLowerCase() === "localhost" || (ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback"))

/** The names by which programs on the same machine reach the server. */
const LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"] as const

/** The names in `Host` for a server on a loopback address; undefined for any other address. */
export const loopbackNames = (address: string): ReadonlyArray<string> | undefined => {
  const name = address.toLowerCase()
  if (name !== "localhost" && !/^127(?:\.\d{1,3}){3}$/.test(name) && !/^(?:0*:)+0*1$/.test(name)) return undefined
  return [...new Set([...LOOPBACK_HOSTS, name.includes(":") ? "[::1]" : name])]
}
