/**
 * Asks an HTTP provider about an address and reads its JSON answer. Every failure is an `IpIntelFailed` whose message is written
 * here: it never contains the URL (which may contain the key) or the body (which may repeat the key).
 *
 * Providers also answer errors with status 200: a used-up quota, a key that they do not know. Such an answer is the failure that it
 * tells, as if its status had told it.
 */
import { Effect, Option, type Redacted, Schema } from "effect"
import { type HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { boundedText, MAX_ANSWER_BYTES, withoutClientSpan, withoutRedirects } from "../lib/http-client.ts"
import { failing, type IpFacts, type IpIntelFailed } from "./facts.ts"

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

/** Redacted in traces; empty without a key. */
export const keyParam = (apiKey: Redacted.Redacted<string> | undefined): Record<string, Redacted.Redacted<string>> =>
  apiKey === undefined ? {} : { key: apiKey }

/** Joins the provider's own URL, or its replacement, with a path that starts with a slash. */
export const urlOf = (own: string, baseUrl: string | undefined, path: string): string =>
  (baseUrl ?? own).replace(/\/+$/, "") + path

type Fields = Readonly<Record<string, unknown>>

const decodeFields = Schema.decodeUnknownOption(Schema.Record(Schema.String, Schema.Unknown))
const fieldsOf = (value: unknown): Fields => Option.getOrElse(decodeFields(value), () => ({}))

/** The members in which providers put what went wrong, and its code. */
const TEXTS = ["message", "error_message", "error", "info", "title", "reason", "description", "detail", "msg"]
const CODES = ["status", "code", "statusCode", "status_code"]

/** An HTTP status below the answer's own one, as in `{"status": 429, "error": …}`. */
const isErrorStatus = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 400 && value < 600

/** What a text says about the failure. A provider's words are neither logged nor kept, because they may repeat the key. */
const reasonOfText = (text: string): Reason => {
  if (/quota|exceed|exhaust|insufficient|too many|limit(?:ed| reached)?\b|credits?\b|\bplan\b|upgrade/i.test(text))
    return "quota"
  if (/\b(?:api[ _-]?)?keys?\b|\btoken\b|unauthori[sz]ed|forbidden|authenticat|\bdenied\b/i.test(text))
    return "unauthorized"
  if (/\b(?:ip|ipv4|ipv6|address(?:es)?)\b/i.test(text)) return "rejected"
  return "refused"
}

/** The failure of an error that a provider reports in the body of an answer. */
export const reasonOfError = (body: unknown): Reason => {
  const fields = fieldsOf(body)
  const inner = fieldsOf(fields.error)
  const status = CODES.flatMap((name) => [inner[name], fields[name]]).find(isErrorStatus)
  if (status !== undefined) return reasonOfStatus(status)
  const texts = TEXTS.flatMap((name) => [inner[name], fields[name]]).filter((text) => typeof text === "string")
  return reasonOfText(texts.join(" "))
}

/** Whether a body reports an error, whatever else it has. */
const hasError = ({ error, success }: Fields): boolean =>
  success === false || (error !== undefined && error !== null && error !== false && error !== "")

/** Whether a body without facts says why. */
const saysWhy = (fields: Fields): boolean =>
  CODES.some((name) => isErrorStatus(fields[name])) || TEXTS.some((name) => typeof fields[name] === "string")

/** Makes a function that asks one provider and reads the facts in its answers. */
export const factsRequester = <S extends Schema.ConstraintDecoder<unknown>>(options: {
  readonly provider: string
  readonly client: HttpClient.HttpClient
  readonly schema: S
  /** what an answer of this schema says; fails with `malformed` where it has no fact */
  readonly facts: (answer: S["Type"], address: string) => Effect.Effect<IpFacts, IpIntelFailed>
  /** statuses with another meaning for this provider */
  readonly statuses?: Readonly<Record<number, Reason>>
}): ((address: string, request: HttpClientRequest.HttpClientRequest) => Effect.Effect<IpFacts, IpIntelFailed>) => {
  const { client, facts, provider, statuses } = options
  const fail = failing(provider)
  const parse = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))
  const decode = Schema.decodeUnknownEffect(options.schema)
  const unreachable = () => fail("unreachable", "could not be reached")
  const malformed = () => fail("malformed", "gave an answer in an unknown format")
  const refused = (fields: Fields) => fail(reasonOfError(fields), "answered an error with status 200")

  const body = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<string, IpIntelFailed> => {
    const { status } = response
    return status >= 200 && status < 300
      ? Effect.catch(boundedText(response, MAX_ANSWER_BYTES), unreachable)
      : fail(statuses?.[status] ?? reasonOfStatus(status), `answered HTTP ${status}`)
  }

  const factsIn = (json: unknown, address: string): Effect.Effect<IpFacts, IpIntelFailed> => {
    const fields = fieldsOf(json)
    if (hasError(fields)) return refused(fields)
    return Effect.catch(decode(json), malformed).pipe(
      Effect.flatMap((answer) => facts(answer, address)),
      Effect.catchIf(
        ({ reason }) => reason === "malformed" && saysWhy(fields),
        () => refused(fields),
      ),
    )
  }

  return (address, request) =>
    client.execute(HttpClientRequest.acceptJson(request)).pipe(
      Effect.catch(unreachable),
      Effect.flatMap(body),
      Effect.flatMap((text) => Effect.catch(parse(text), malformed)),
      Effect.flatMap((json) => factsIn(json, address)),
      withoutRedirects,
      withoutClientSpan,
    )
}
