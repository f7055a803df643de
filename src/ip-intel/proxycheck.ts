/**
 * proxycheck.io v3: `GET /v3/{ip}?key=`. The answer is keyed by the address; `status` is ok, warning (answered, with a notice),
 * denied (quota) or error.
 */
import { Effect, Option, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { canonicalAddress } from "./address.ts"
import { Flag, factsOf, failing, type Provider } from "./facts.ts"
import { type HttpProviderOptions, jsonRequester, keyParam, urlOf } from "./request.ts"

const name = "proxycheck.io"
const fail = failing(name)

// there are other keys than addresses (`query_time`, `message`), so only the entry of the address is decoded
const Answer = Schema.StructWithRest(Schema.Struct({ status: Schema.Literals(["ok", "warning", "denied", "error"]) }), [
  Schema.Record(Schema.String, Schema.Unknown),
])

const Entry = Schema.Struct({
  detections: Schema.Struct({ vpn: Flag, proxy: Flag, tor: Flag, hosting: Flag }),
})
const decodeEntry = Schema.decodeUnknownOption(Entry)

export const proxycheck = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = jsonRequester({ provider: name, client, schema: Answer })
  return {
    name,
    lookup: (address) =>
      Effect.flatMap(
        ask(
          HttpClientRequest.get(urlOf("https://proxycheck.io", baseUrl, `/v3/${address}`), {
            urlParams: keyParam(apiKey),
          }),
        ),
        (answer) => {
          if (answer.status === "denied") return fail("quota", "denied the lookup")
          if (answer.status === "error") return fail("rejected", "refused the lookup")
          // the provider may spell an IPv6 address differently
          const key = Object.hasOwn(answer, address)
            ? address
            : Object.keys(answer).find((text) => canonicalAddress(text) === address)
          const entry = decodeEntry(key === undefined ? undefined : answer[key])
          if (Option.isNone(entry)) return fail("malformed", "answered without detections")
          const { vpn, proxy, tor, hosting } = entry.value.detections
          return factsOf(fail, { vpn, proxy, tor, datacenter: hosting, relay: "never" })
        },
      ),
  }
}
