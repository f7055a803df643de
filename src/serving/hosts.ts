/**
 * Which names a server answers to. A page of a stranger can point its own domain at 127.0.0.1 or an internal address (DNS
 * rebinding); its requests are of one origin with the server then, and only their `Host` tells.
 */

/** What a program on the same machine calls it. */
const LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"] as const

/** The names by which a loopback address is called, as `Host` has them; undefined for any other address. */
export const loopbackNames = (address: string): ReadonlyArray<string> | undefined => {
  const name = address.toLowerCase()
  if (name !== "localhost" && !/^127(?:\.\d{1,3}){3}$/.test(name) && !/^(?:0*:)+0*1$/.test(name)) return undefined
  return [...new Set([...LOOPBACK_HOSTS, name.includes(":") ? "[::1]" : name])]
}

/** A `Host` header's name without its port, in lower case. */
const nameOf = (host: string): string => host.replace(/:\d*$/, "").toLowerCase()

/**
 * Whether a `Host` header is one of the allowed (names in lower case, without port); without a list all are. A request
 * without the header comes from no browser, and passes.
 */
export const makeHostCheck = (allowed: ReadonlyArray<string> | undefined): ((host: string | undefined) => boolean) => {
  if (allowed === undefined) return () => true
  const names = new Set(allowed)
  let last: string | undefined
  return (host) => {
    if (host === undefined || host === last) return true
    if (!names.has(nameOf(host))) return false
    last = host
    return true
  }
}
