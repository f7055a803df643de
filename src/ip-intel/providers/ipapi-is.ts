/** ipapi.is: `GET /?q={ip}&key=`. HTTP 429 and 403 mean an exceeded quota. Works without a key for a few lookups per day. */
import { Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, factsOf, failing, isRelayName, type Provider } from "../facts.ts"
import { factsRequester, type HttpProviderOptions, keyParam, urlOf } from "../request.ts"

const name = "ipapi.is"
const fail = failing(name)

const Answer = Schema.Struct({
  is_vpn: Flag,
  is_proxy: Flag,
  is_tor: Flag,
  is_datacenter: Flag,
  /** the VPN of the address, `{"service": "…"}`; some privacy relays are only told by that name */
  vpn: Schema.optionalKey(Schema.Unknown),
})

const Vpn = Schema.Struct({ service: Schema.Unknown })
const isVpnEntry = Schema.is(Vpn)

export const ipapiIs = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = factsRequester({
    provider: name,
    client,
    schema: Answer,
    statuses: { 403: "quota" },
    facts: ({ is_datacenter, is_proxy, is_tor, is_vpn, vpn }) =>
      factsOf(fail, {
        vpn: is_vpn,
        proxy: is_proxy,
        tor: is_tor,
        datacenter: is_datacenter,
        relay: isVpnEntry(vpn) && isRelayName(vpn.service) ? true : "never",
      }),
  })
  const url = urlOf("https://api.ipapi.is", baseUrl, "/")
  return {
    name,
    lookup: (address) => ask(address, HttpClientRequest.get(url, { urlParams: { q: address, ...keyParam(apiKey) } })),
  }
}
