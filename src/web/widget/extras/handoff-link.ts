/** The address that has a ticket in its fragment, for another device. */

/** A key may have dots, a ticket has none. */
const LINK = /^#voicegate=(.*)\.([^.]+)$/

/** A page's address with a ticket; `key` tells several widgets of the page apart, as `VoiceAgentOptions.key` does. */
export const linkOf = (page: string, ticket: string, key: string): string => {
  const url = new URL(page)
  url.hash = `voicegate=${encodeURIComponent(key)}.${encodeURIComponent(ticket)}`
  return url.href
}

/**
 * The ticket in an address, if it is for the widget with this key, and the address without it. That is a whole URL: a path alone is
 * relative to the page's `<base>`, and one that begins with `//` names a host.
 */
export const readLink = (
  address: string,
  key: string,
): { readonly ticket: string; readonly page: string } | undefined => {
  const url = new URL(address)
  const [, forKey = "", ticket] = LINK.exec(url.hash) ?? []
  if (ticket === undefined) return undefined
  url.hash = ""
  try {
    return decodeURIComponent(forKey) === key ? { ticket: decodeURIComponent(ticket), page: url.href } : undefined
  } catch {
    // somebody wrote that address by hand
    return undefined
  }
}
