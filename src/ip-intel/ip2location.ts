/**
 * IP2Location.io: `GET /?key=&ip=&format=json`. The `proxy` object is missing in the smaller plans; then all that is
 * known is `is_proxy`. Failures are HTTP 400 and 401 with `{"error": {error_code, error_message}}`.
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, failing, ipFacts, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, keyParam, urlOf } from "./request.ts"

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
      }),
    ),
  ),
  error: Schema.optionalKey(Schema.Unknown),
})

export const ip2location = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = jsonRequester({ provider: name, client, schema: Answer })
  const url = urlOf("https://api.ip2location.io", baseUrl, "/")
  return {
    name,
    lookup: (address) =>
      Effect.flatMap(
        ask(HttpClientRequest.get(url, { urlParams: { ip: address, format: "json", ...keyParam(apiKey) } })),
        ({ error, is_proxy, proxy }) => {
          if (error !== undefined) return fail("rejected", "refused the lookup")
          if (proxy !== undefined && proxy !== null) {
            return Effect.succeed(
              ipFacts({
                vpn: proxy.is_vpn,
                proxy: proxy.is_public_proxy === true || proxy.is_web_proxy === true,
                tor: proxy.is_tor,
                datacenter: proxy.is_data_center,
              }),
            )
          }
          return is_proxy === undefined || is_proxy === null
            ? fail("malformed", "answered without any fact")
            : Effect.succeed(ipFacts({ proxy: is_proxy }))
        },
      ),
  }
}
