/**
 * IP2Location.io: `GET /?key=&ip=&format=json`. Smaller plans lack the `proxy` object and report only `is_proxy`: true does not
 * tell which kind, false covers VPN, Tor and proxies. Failures are HTTP 400 and 401 with `{"error": {error_code, error_message}}`.
 */
import { Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { anyOf, Flag, factsOf, failing, type Provider } from "../facts.ts"
import { factsRequester, type HttpProviderOptions, keyParam, urlOf } from "../request.ts"

const name = "ip2location.io"
const fail = failing(name)

const Answer = Schema.Struct({
  is_proxy: Flag,
  proxy: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        is_vpn: Flag,
        is_tor: Flag,
        is_data_center: Flag,
        is_public_proxy: Flag,
        is_web_proxy: Flag,
        is_residential_proxy: Flag,
        /** a relay such as Apple's */
        is_consumer_privacy_network: Flag,
      }),
    ),
  ),
})

export const ip2location = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = factsRequester({
    provider: name,
    client,
    schema: Answer,
    facts: ({ is_proxy, proxy }) => {
      if (proxy === undefined || proxy === null) {
        const none = is_proxy === false ? false : null
        return factsOf(fail, { vpn: none, proxy: is_proxy, tor: none, datacenter: null, relay: "never" })
      }
      return factsOf(fail, {
        vpn: proxy.is_vpn,
        proxy: anyOf([proxy.is_public_proxy, proxy.is_web_proxy], [proxy.is_residential_proxy]),
        tor: proxy.is_tor,
        datacenter: proxy.is_data_center,
        relay: proxy.is_consumer_privacy_network ?? "never",
      })
    },
  })
  const url = urlOf("https://api.ip2location.io", baseUrl, "/")
  return {
    name,
    lookup: (address) =>
      ask(address, HttpClientRequest.get(url, { urlParams: { ip: address, format: "json", ...keyParam(apiKey) } })),
  }
}
