/**
 * The address of a request's caller: the connection's, or the one that a trusted proxy names (`Security.TrustedProxies`,
 * `Security.ClientAddressHeader`); a reload may change both.
 */
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { clientAddress, type TrustedProxies, trustedProxies } from "../../lib/ip/client-address.ts"
import { makeAddressWatch } from "../../serving/address-watch.ts"
import { header } from "../../serving/repeated-headers.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { REQUEST_PATH } from "./paths.ts"

/** Returns a function that reads the trusted proxies of the settings in force. */
export const currentTrustedProxies: Effect.Effect<() => TrustedProxies, never, Settings> = Effect.map(
  currentSettings,
  (settings) => derived(settings, ({ Security }) => trustedProxies(Security.TrustedProxies)),
)

/** Undefined if it is unknown. */
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

/** Watches for requests whose caller's address may not be the caller's (`serving/address-watch.ts`), by the settings in force. */
export const watchAddresses: Effect.Effect<(request: IncomingMessage) => void, never, Settings> = Effect.gen(
  function* () {
    const settings = yield* currentSettings
    const run = Effect.runForkWith(yield* Effect.context<never>())
    return makeAddressWatch({
      header: () => settings().Security.ClientAddressHeader,
      trusted: yield* currentTrustedProxies,
      names: { header: "Security.ClientAddressHeader", proxies: "Security.TrustedProxies" },
      // what a load balancer itself asks for needs no address
      needsAddress: ({ url }) => url?.includes(REQUEST_PATH) === true,
      warn: (text) => void run(Effect.logWarning(text)),
    })
  },
)
