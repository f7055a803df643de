/**
 * ipinfo.io: `GET /lookup/{ip}` of its API host, the key as a bearer token. Failures are HTTP 403 and 429. Smaller
 * plans say only `is_anonymous`: a yes counts as a proxy, a no covers VPN, Tor, proxies and relays. `is_res_proxy` is a
 * residential proxy, which only the largest plans tell.
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { answered, anyOf, Flag, failing, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, urlOf } from "./request.ts"

const name = "ipinfo.io"
const fail = failing(name)

const Answer = Schema.Struct({
  anonymous: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ is_vpn: Flag, is_proxy: Flag, is_res_proxy: Flag, is_tor: Flag, is_relay: Flag })),
  ),
  /** any of the above, in plans that do not tell which */
  is_anonymous: Flag,
  is_hosting: Flag,
})

export const ipinfo = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = jsonRequester({ provider: name, client, schema: Answer })
  return {
    name,
    lookup: (address) => {
      const request = HttpClientRequest.get(urlOf("https://api.ipinfo.io", baseUrl, `/lookup/${address}`))
      return Effect.flatMap(
        ask(apiKey === undefined ? request : HttpClientRequest.bearerToken(request, apiKey)),
        ({ anonymous, is_anonymous, is_hosting }) => {
          if (anonymous === undefined || anonymous === null) {
            const none = is_anonymous === false ? false : null
            return answered(fail, { vpn: none, proxy: is_anonymous, tor: none, relay: none, datacenter: is_hosting })
          }
          return answered(fail, {
            vpn: anonymous.is_vpn,
            proxy: anyOf([anonymous.is_proxy], [anonymous.is_res_proxy]),
            tor: anonymous.is_tor,
            relay: anonymous.is_relay,
            datacenter: is_hosting,
          })
        },
      )
    },
  }
}
