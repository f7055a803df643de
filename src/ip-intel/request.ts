/**
 * Asks an HTTP provider and reads its JSON answer. Every failure is an `IpIntelFailed` whose message is written here:
 * neither the address asked (it may carry the key) nor the body (it may repeat the key) is ever part of it.
 */
import { Effect, type Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { boundedText, MAX_ANSWER_BYTES, withoutRedirects } from "../http-client.ts"
import { failing, type IpIntelFailed } from "./facts.ts"

/** What every HTTP provider is made from. */
export interface HttpProviderOptions {
  readonly client: HttpClient.HttpClient
  readonly apiKey: Redacted.Redacted<string> | undefined
  /** replaces scheme and host of the provider's own address, with or without a trailing slash */
  readonly baseUrl: string | undefined
}

type Reason = IpIntelFailed["reason"]

/** What a status other than 2xx means, where the provider does not differ. */
const reasonOfStatus = (status: number): Reason => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 402 || status === 429) return "quota"
  if (status >= 500) return "unreachable"
  return "rejected"
}

/** The key as a query parameter: wrapped, so that traces show it redacted; nothing when there is none. */
export const keyParam = (apiKey: Redacted.Redacted<string> | undefined): Record<string, Redacted.Redacted<string>> =>
  apiKey === undefined ? {} : { key: apiKey }

/** Joins the provider's own address, or the one that replaces it, with a path that begins with a slash. */
export const urlOf = (own: string, baseUrl: string | undefined, path: string): string =>
  (baseUrl ?? own).replace(/\/+$/, "") + path

/** Sends requests of one provider and decodes the answers with a schema. */
export const jsonRequester = <S extends Schema.ConstraintDecoder<unknown>>(options: {
  readonly provider: string
  readonly client: HttpClient.HttpClient
  readonly schema: S
  /** statuses that mean something else with this provider */
  readonly statuses?: Readonly<Record<number, Reason>>
}): ((request: HttpClientRequest.HttpClientRequest) => Effect.Effect<S["Type"], IpIntelFailed>) => {
  const { provider, client, statuses } = options
  const fail = failing(provider)
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(options.schema))
  const unreachable = () => fail("unreachable", "could not be reached")

  const body = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<string, IpIntelFailed> => {
    const { status } = response
    return status >= 200 && status < 300
      ? Effect.catch(boundedText(response, MAX_ANSWER_BYTES), unreachable)
      : fail(statuses?.[status] ?? reasonOfStatus(status), `answered HTTP ${status}`)
  }

  return (request) =>
    client.execute(HttpClientRequest.acceptJson(request)).pipe(
      Effect.catch(unreachable),
      Effect.flatMap(body),
      Effect.flatMap((text) =>
        Effect.catch(decode(text), () => fail("malformed", "gave an answer that is not understood")),
      ),
      withoutRedirects,
      // a stranger need not see our trace ids
      Effect.provideService(HttpClient.TracerPropagationEnabled, false),
    )
}
