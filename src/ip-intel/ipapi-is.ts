/** ipapi.is: `GET /?q={ip}&key=`. Quota is HTTP 429 or 403. Works without a key for a few lookups a day. */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { Flag, failing, ipFacts, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, keyParam, urlOf } from "./request.ts"

const name = "ipapi.is"
const fail = failing(name)

const Answer = Schema.Struct({
  is_vpn: Flag,
  is_proxy: Flag,
  is_tor: Flag,
  is_datacenter: Flag,
  is_abuser: Flag,
  is_bogon: Flag,
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
        const { error, ...flags } = answer
        if (error !== undefined) return fail("rejected", "refused the lookup")
        // false keys may be absent, but an answer without a single one is not an answer
        if (Object.keys(flags).length === 0) return fail("malformed", "answered without any fact")
        return Effect.succeed(
          ipFacts({ vpn: flags.is_vpn, proxy: flags.is_proxy, tor: flags.is_tor, datacenter: flags.is_datacenter }),
        )
      }),
  }
}
