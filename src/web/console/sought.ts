/** What an operator searches for and blocks: hashes of tickets, addresses and their networks, customers. */
/** The start of a ticket's hash, or a caller by address or subject. */
export type Sought = { readonly hash: string } | { readonly caller: string }

const HASH = /^[0-9a-f]{4,10}$/i
/** An address as far as a page must know: dots between numbers, or colons. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f]*:[\da-f:.]+(?:\/64)?)$/i

/** What a text searches for. A text that may be a hash is one; the subject of a token may be written as `sub:…`. */
export const soughtBy = (typed: string): Sought | undefined => {
  const text = typed.trim()
  if (HASH.test(text)) return { hash: text }
  if (text.startsWith("sub:")) return text.length > 4 ? { caller: text.slice(4) } : undefined
  return text.length < 3 ? undefined : { caller: text.replace(/\/64$/, "") }
}

/** Whether a text is an address that can be blocked. */
export const isAddress = (text: string): boolean => ADDRESS.test(text.trim())

/** The network of a plain address as the gate names it: the /24 of IPv4, the /48 of IPv6; undefined for a hash or a network. */
export const networkOf = (address: string): string | undefined => {
  const [, ipv4] = /^(\d+\.\d+\.\d+)\.\d+$/.exec(address) ?? []
  if (ipv4 !== undefined) return `${ipv4}.0/24`
  const [, ipv6] = /^([\da-f]{1,4}:[\da-f]{1,4}:[\da-f]{1,4}):[\da-f:]*(?:\/64)?$/.exec(address) ?? []
  return ipv6 === undefined ? undefined : `${ipv6}::/48`
}
