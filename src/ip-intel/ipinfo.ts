/**
 * ipinfo.io: `GET /lookup/{ip}` of its API host, the key as a bearer token. Failures are HTTP 403 and 429. Smaller
 * plans say only `is_anonymous`, which then counts as a proxy; an answer with no such key at all holds no facts.
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, failing, ipFacts, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, urlOf } from "./request.ts"

const name = "ipinfo.io"
const fail = failing(name)

const Answer = Schema.Struct({
  anonymous: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ is_vpn: Flag, is_proxy: Flag, is_tor: Flag, is_relay: Flag })),
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
          if (anonymous === undefined && is_anonymous === undefined && is_hosting === undefined) {
            return fail("malformed", "answered without any fact")
          }
          const { is_vpn, is_proxy, is_tor, is_relay } = anonymous ?? { is_proxy: is_anonymous }
          return Effect.succeed(
            ipFacts({ vpn: is_vpn, proxy: is_proxy, tor: is_tor, relay: is_relay, datacenter: is_hosting }),
          )
        },
      )
    },
  }
}
