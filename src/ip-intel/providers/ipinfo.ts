/**
 * ipinfo.io: `GET /lookup/{ip}` on its API host, with the key as a bearer token. Failures are HTTP 403 and 429. Smaller plans
 * report only `is_anonymous`: true counts as a proxy, false covers VPN, Tor, proxies and relays. Only the largest plans report
 * `is_res_proxy`, a residential proxy.
 */
import { Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { anyOf, Flag, factsOf, failing, type Provider } from "../facts.ts"
import { factsRequester, type HttpProviderOptions, urlOf } from "../request.ts"

const name = "ipinfo.io"
const fail = failing(name)

const Answer = Schema.Struct({
  anonymous: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ is_vpn: Flag, is_proxy: Flag, is_res_proxy: Flag, is_tor: Flag, is_relay: Flag })),
  ),
  /** any of the above, in plans without the details */
  is_anonymous: Flag,
  is_hosting: Flag,
})

export const ipinfo = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = factsRequester({
    provider: name,
    client,
    schema: Answer,
    facts: ({ anonymous, is_anonymous, is_hosting }) => {
      if (anonymous === undefined || anonymous === null) {
        const none = is_anonymous === false ? false : null
        return factsOf(fail, { vpn: none, proxy: is_anonymous, tor: none, relay: none, datacenter: is_hosting })
      }
      return factsOf(fail, {
        vpn: anonymous.is_vpn,
        proxy: anyOf([anonymous.is_proxy], [anonymous.is_res_proxy]),
        tor: anonymous.is_tor,
        relay: anonymous.is_relay,
        datacenter: is_hosting,
      })
    },
  })
  return {
    name,
    lookup: (address) => {
      const request = HttpClientRequest.get(urlOf("https://api.ipinfo.io", baseUrl, `/lookup/${address}`))
      return ask(address, apiKey === undefined ? request : HttpClientRequest.bearerToken(request, apiKey))
    },
  }
}
