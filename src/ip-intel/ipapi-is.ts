/** ipapi.is: `GET /?q={ip}&key=`. HTTP 429 and 403 mean an exceeded quota. Works without a key for a few lookups per day. */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, factsOf, failing, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, keyParam, urlOf } from "./request.ts"

const name = "ipapi.is"
const fail = failing(name)

const Answer = Schema.Struct({
  is_vpn: Flag,
  is_proxy: Flag,
  is_tor: Flag,
  is_datacenter: Flag,
  /** present instead of facts when the lookup was refused */
  error: Schema.optionalKey(Schema.Unknown),
})

export const ipapiIs = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = jsonRequester({ provider: name, client, schema: Answer, statuses: { 403: "quota" } })
  const url = urlOf("https://api.ipapi.is", baseUrl, "/")
  return {
    name,
    lookup: (address) =>
      Effect.flatMap(ask(HttpClientRequest.get(url, { urlParams: { q: address, ...keyParam(apiKey) } })), (answer) => {
        if (answer.error !== undefined) return fail("rejected", "refused the lookup")
        return factsOf(fail, {
          vpn: answer.is_vpn,
          proxy: answer.is_proxy,
          tor: answer.is_tor,
          datacenter: answer.is_datacenter,
          relay: "never",
        })
      }),
  }
}
