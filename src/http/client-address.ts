/**
 * The address of a request's caller: the connection's, or the one that a trusted proxy names (`Security.TrustedProxies`,
 * `Security.ClientAddressHeader`); a reload may change both. A proxy that is not known gives all its callers one address, and so one
 * limit, in silence: the log says so once, with the setting.
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { parseAddress } from "../ip-intel/address.ts"
import { clientAddress, seenAddress, type TrustedProxies, trustedProxies } from "../ip-intel/client-address.ts"
import type { Settings } from "../Settings.ts"
import { currentSettings, derived } from "../settings/current.ts"
import { ADDRESS_HEADERS, header } from "./incoming.ts"
import { REQUEST_PATH } from "./paths.ts"

/** Returns a function that reads the trusted proxies of the settings in force. */
export const currentTrustedProxies: Effect.Effect<() => TrustedProxies, never, Settings> = Effect.map(
  currentSettings,
  (settings) => derived(settings, ({ Security }) => trustedProxies(Security.TrustedProxies)),
)

/** The caller's address; undefined if it is unknown. */
export type AddressOf = (request: IncomingMessage) => string | undefined

/** Reads the address of a caller by the settings in force. */
export const currentAddressOf: Effect.Effect<AddressOf, never, Settings> = Effect.gen(function* () {
  const settings = yield* currentSettings
  const trusted = yield* currentTrustedProxies
  return (request) => {
    const name = settings().Security.ClientAddressHeader
    return clientAddress({
      socketAddress: request.socket.remoteAddress,
      header: name,
      value: header(request, name),
      trusted: trusted(),
    })
  }
})

/** Warnings of one kind, for as many different proxies; a caller that only pretends to be one must not fill the log. */
const MOST_WARNINGS = 3

const TITLES = new Map([
  ["cf-connecting-ip", "CF-Connecting-IP"],
  ["true-client-ip", "True-Client-IP"],
  ["x-real-ip", "X-Real-IP"],
  ["fly-client-ip", "Fly-Client-IP"],
])
const titleOf = (name: string): string =>
  TITLES.get(name) ?? name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())

/** What is wrong with how the address of a request's caller is found: the kind and the words; undefined if nothing is. */
const doubtOf = (
  request: IncomingMessage,
  name: string,
  trusted: TrustedProxies,
): readonly [kind: "untrusted" | "header" | "entry" | "none", text: string] | undefined => {
  const peer = parseAddress(request.socket.remoteAddress ?? "")
  if (peer === undefined) return undefined
  const value = header(request, name)
  const shared = "All its callers count as one address, with one limit"
  if (!trusted.has(peer)) {
    const other = value === undefined ? ADDRESS_HEADERS.find((each) => each in request.headers) : name
    if (other === undefined) return undefined
    const text =
      `${peer.text} sends ${titleOf(other)}, and is not one of Security.TrustedProxies: the header is ignored. ` +
      `If it is your proxy or CDN, add it to Security.TrustedProxies. ${shared}.`
    return ["untrusted", text]
  }
  if (value === undefined) {
    const other = ADDRESS_HEADERS.find((each) => each in request.headers)
    if (other !== undefined) {
      const text =
        `The trusted proxy ${peer.text} sends ${titleOf(other)}, and no ${titleOf(name)}: set Security.ClientAddressHeader to ` +
        `${titleOf(other)} if your proxy sets that header itself and lets no caller choose it. ${shared}.`
      return ["header", text]
    }
    if (request.url?.includes(REQUEST_PATH) !== true) return undefined
    const text =
      `The trusted proxy ${peer.text} sends no ${titleOf(name)}: let it send the header, or name another one in ` +
      `Security.ClientAddressHeader. ${shared}.`
    return ["none", text]
  }
  const seen = seenAddress({ socketAddress: peer.text, header: name, value, trusted })
  if (seen?.unreadable !== true) return undefined
  const text =
    `The trusted proxy ${peer.text} sends a ${titleOf(name)} that does not end with an address ` +
    `(Security.ClientAddressHeader). ${shared}, that of the last proxy.`
  return ["entry", text]
}

/**
 * Looks at requests whose caller's address may not be the caller's, and logs each kind of mistake once for a proxy of this network, and for
 * at most `MOST_WARNINGS` other addresses.
 */
export const watchAddresses: Effect.Effect<(request: IncomingMessage) => void, never, Settings> = Effect.gen(
  function* () {
    const settings = yield* currentSettings
    const trusted = yield* currentTrustedProxies
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const warned = new Set<string>()
    const warnings = new Map<string, number>()
    return (request) => {
      const found = doubtOf(request, settings().Security.ClientAddressHeader, trusted())
      if (found === undefined) return
      const [kind, text] = found
      const peer = parseAddress(request.socket.remoteAddress ?? "")
      // programs of the own network are believed to be proxies; anyone on the internet can send such a header
      const group = `${kind} ${peer?.isPublic === true ? "public" : "own"}`
      const count = warnings.get(group) ?? 0
      const key = `${kind} ${peer?.limitKey ?? ""}`
      if (count >= MOST_WARNINGS || warned.has(key)) return
      warned.add(key)
      warnings.set(group, count + 1)
      run(Effect.logWarning(text))
    }
  },
)
