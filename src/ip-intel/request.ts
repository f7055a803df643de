/**
 * Sends a request to an HTTP provider and decodes its JSON answer. Every failure is an `IpIntelFailed` whose message is written
 * here: it never contains the URL (which may contain the key) or the body (which may repeat the key).
 */
import { Effect, type Redacted, Schema } from "effect"
import { type HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { boundedText, MAX_ANSWER_BYTES, withoutClientSpan, withoutRedirects } from "../http-client.ts"
import { failing, type IpIntelFailed } from "./facts.ts"

/** Options of every HTTP provider. */
export interface HttpProviderOptions {
  readonly client: HttpClient.HttpClient
  readonly apiKey: Redacted.Redacted<string> | undefined
  /** replaces scheme and host of the provider's own URL; a trailing slash is optional */
  readonly baseUrl: string | undefined
}

type Reason = IpIntelFailed["reason"]

/** The meaning of a status other than 2xx, unless the provider defines another. */
const reasonOfStatus = (status: number): Reason => {
  if (status === 401 || status === 403) return "unauthorized"
  if (status === 402 || status === 429) return "quota"
  if (status >= 500) return "unreachable"
  return "rejected"
}

/** The key as a query parameter, redacted in traces; empty without a key. */
export const keyParam = (apiKey: Redacted.Redacted<string> | undefined): Record<string, Redacted.Redacted<string>> =>
  apiKey === undefined ? {} : { key: apiKey }

/** Joins the provider's own URL, or its replacement, with a path that starts with a slash. */
export const urlOf = (own: string, baseUrl: string | undefined, path: string): string =>
  (baseUrl ?? own).replace(/\/+$/, "") + path

/** Makes a function that sends requests to one provider and decodes the answers with a schema. */
export const jsonRequester = <S extends Schema.ConstraintDecoder<unknown>>(options: {
  readonly provider: string
  readonly client: HttpClient.HttpClient
  readonly schema: S
  /** statuses with another meaning for this provider */
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
        Effect.catch(decode(text), () => fail("malformed", "gave an answer in an unknown format")),
      ),
      withoutRedirects,
      withoutClientSpan,
    )
}
