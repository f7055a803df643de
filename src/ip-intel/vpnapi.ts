/**
 * vpnapi.io: `GET /api/{ip}?key=`. It does not report datacenters. Its failures are not documented; an answer without `security`,
 * such as one with only a `message`, counts as a failure.
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, factsOf, failing, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, keyParam, urlOf } from "./request.ts"

const name = "vpnapi.io"
const fail = failing(name)

const Answer = Schema.Struct({
  security: Schema.Struct({ vpn: Flag, proxy: Flag, tor: Flag, relay: Flag }),
})

export const vpnapi = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = jsonRequester({ provider: name, client, schema: Answer })
  return {
    name,
    lookup: (address) =>
      Effect.flatMap(
        ask(
          HttpClientRequest.get(urlOf("https://vpnapi.io", baseUrl, `/api/${address}`), {
            urlParams: keyParam(apiKey),
          }),
        ),
        ({ security }) =>
          factsOf(fail, {
            vpn: security.vpn,
            proxy: security.proxy,
            tor: security.tor,
            relay: security.relay,
            datacenter: "never",
          }),
      ),
  }
}
