/**
 * proxycheck.io v3: `GET /v3/{ip}?key=`. The answer is keyed by the address; `status` is ok, warning (answered, with a notice),
 * denied (quota) or error. `operator.name` tells a privacy relay from a VPN.
 */
import { Option, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { canonicalAddress } from "../../lib/ip/address.ts"
import { Flag, factsOf, failing, isRelayName, type Provider } from "../facts.ts"
import { factsRequester, type HttpProviderOptions, keyParam, reasonOfError, urlOf } from "../request.ts"

const name = "proxycheck.io"
const fail = failing(name)

// there are other keys than addresses (`query_time`, `message`), so only the entry of the address is decoded
const Answer = Schema.StructWithRest(Schema.Struct({ status: Schema.Literals(["ok", "warning", "denied", "error"]) }), [
  Schema.Record(Schema.String, Schema.Unknown),
])

const Entry = Schema.Struct({
  detections: Schema.Struct({ vpn: Flag, proxy: Flag, tor: Flag, hosting: Flag }),
  operator: Schema.optionalKey(Schema.Unknown),
})
const decodeEntry = Schema.decodeUnknownOption(Entry)
const isOperator = Schema.is(Schema.Struct({ name: Schema.Unknown }))

export const proxycheck = ({ client, apiKey, baseUrl }: HttpProviderOptions): Provider => {
  const ask = factsRequester({
    provider: name,
    client,
    schema: Answer,
    facts: (answer, address) => {
      if (answer.status === "denied") return fail("quota", "denied the lookup")
      if (answer.status === "error") return fail(reasonOfError(answer), "refused the lookup")
      // the provider may spell an IPv6 address differently
      const key = Object.hasOwn(answer, address)
        ? address
        : Object.keys(answer).find((text) => canonicalAddress(text) === address)
      const entry = decodeEntry(key === undefined ? undefined : answer[key])
      if (Option.isNone(entry)) return fail("malformed", "answered without detections")
      const { detections, operator } = entry.value
      const { hosting, proxy, tor, vpn } = detections
      const relay = isOperator(operator) && isRelayName(operator.name) ? true : "never"
      return factsOf(fail, { vpn, proxy, tor, datacenter: hosting, relay })
    },
  })
  return {
    name,
    lookup: (address) =>
      ask(
        address,
        HttpClientRequest.get(urlOf("https://proxycheck.io", baseUrl, `/v3/${address}`), {
          urlParams: keyParam(apiKey),
        }),
      ),
  }
}
