/** vpnapi.io: `GET /api/{ip}?key=`. It does not report datacenters. Its errors are answers with only a `message`, also with status 200. */
import { Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, factsOf, failing, type Provider } from "../facts.ts"
import { factsRequester, type HttpProviderOptions, keyParam, urlOf } from "../request.ts"

const name = "vpnapi.io"
const fail = failing(name)

const Answer = Schema.Struct({
  security: Schema.Struct({ vpn: Flag, proxy: Flag, tor: Flag, relay: Flag }),
})

export const vpnapi = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = factsRequester({
    provider: name,
    client,
    schema: Answer,
    facts: ({ security: { proxy, relay, tor, vpn } }) => factsOf(fail, { vpn, proxy, tor, relay, datacenter: "never" }),
  })
  return {
    name,
    lookup: (address) =>
      ask(
        address,
        HttpClientRequest.get(urlOf("https://vpnapi.io", baseUrl, `/api/${address}`), { urlParams: keyParam(apiKey) }),
      ),
  }
}
