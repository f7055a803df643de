/**
 * Merges a campaign's webhook from the form with the stored one. Stored secrets are kept only for the same origin: whoever finds an
 * open page cannot have them sent somewhere else.
 */
import { Effect, Redacted } from "effect"
import type { WebhookTarget } from "../../model.ts"
import { type Refused, refuse } from "../../model.ts"
import type { WebhookInput } from "./shapes.ts"

const originOf = (url: string): string | undefined => URL.parse(url)?.origin

/** @param stored the campaign's current webhook; undefined for a new campaign */
export const targetOf = Effect.fnUntraced(function* (
  input: WebhookInput,
  stored: WebhookTarget | undefined,
): Effect.fn.Return<WebhookTarget, Refused> {
  const { headers, signing, url } = input
  const keeps = signing.type === "keep" || headers.some(({ value }) => value === null)
  if (keeps && (stored === undefined || originOf(stored.url) !== originOf(url))) {
    const message = "for another origin, enter the header values and the signing secret again"
    return yield* refuse("invalid", "SECRETS_NOT_KEPT", message)
  }
  const values: Record<string, Redacted.Redacted<string>> = {}
  for (const { name, value } of headers) {
    const kept = stored?.headers[name]
    if (value === null && kept === undefined) {
      return yield* refuse("invalid", "HEADER_VALUE_MISSING", `enter a value for the header ${name}`)
    }
    const used = value === null ? kept : Redacted.make(value)
    if (used !== undefined) values[name] = used
  }
  const secret =
    signing.type === "set" ? Redacted.make(signing.secret) : signing.type === "keep" ? stored?.signingSecret : undefined
  return { url, headers: values, ...(secret !== undefined && { signingSecret: secret }) }
})
