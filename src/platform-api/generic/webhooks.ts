/** Authenticates the webhooks of a vendor that is described by settings: the secret itself in a header, or an HMAC over the body, and its time. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { hmacSha256 } from "../shared/digests.ts"
import { timeRefusal } from "../webhooks/times.ts"
import type { GenericSettings } from "./settings.ts"

export const genericAuthentication = (
  settings: Pick<GenericSettings, "WebhookHeader" | "WebhookScheme" | "WebhookTimeHeader">,
  secret: string,
): Authentication => {
  const { WebhookHeader: name, WebhookScheme: scheme, WebhookTimeHeader: timeName } = settings
  const notOurs = `${name}: It does not match Generic.WebhookSecret.`
  const givenIn = (headers: VendorWebhook["headers"]): string => (headers[name] ?? "").replace(/^sha256=/, "")

  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const untimely = timeName === undefined ? undefined : timeRefusal(timeName, headers, now)
    if (untimely !== undefined) return untimely
    const given = givenIn(headers)
    return given === "" || (scheme === "token" && !equal(given, secret)) ? notOurs : undefined
  }

  return {
    proof: JSON.stringify([secret, name, scheme, timeName]),
    refuses,
    verify: ({ headers, rawBody }, now) => {
      const refusal = refuses(headers, now)
      if (refusal !== undefined || scheme === "token") return refusal
      const signed = timeName === undefined ? rawBody : `${headers[timeName]}.${rawBody}`
      return equal(givenIn(headers), hmacSha256(secret, signed, scheme)) ? undefined : notOurs
    },
  }
}
