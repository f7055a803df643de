/**
 * Checks the `Host` header against DNS rebinding: an attacker's page can point its own domain at 127.0.0.1 or an internal address.
 * Its requests then are same-origin, and only their `Host` reveals them.
 */

/** A `Host` header's name without its port, in lower case. */
const nameOf = (host: string): string => host.replace(/:\d*$/, "").toLowerCase()

export type HostCheck = (host: string | undefined) => boolean

/**
 * Makes a check whether a `Host` header is allowed (names in lower case, without port); without a list all are. A request without
 * the header is allowed, since it is not from a browser.
 */
export const makeHostCheck = (allowed: ReadonlyArray<string> | undefined): HostCheck => {
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
