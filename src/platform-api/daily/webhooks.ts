/** Authenticates Daily's webhooks: an HMAC over time and body, with the secret in base64 that Daily made for the webhook. */
import { equal } from "../../lib/equal.ts"
import type { Authentication } from "../adapter.ts"
import { hmacSha256 } from "../shared/digests.ts"
import { timeRefusal } from "../webhooks/times.ts"

/** What Daily sends without a signature, to see whether the address of a new webhook answers. */
export const TEST = '{"test":"test"}'

export const dailyAuthentication = (webhookSecret: string): Authentication => {
  const secret = Buffer.from(webhookSecret, "base64")
  return {
    verify: ({ headers, rawBody }, now) => {
      if (rawBody === TEST) return undefined
      const untimely = timeRefusal("x-webhook-timestamp", headers, now)
      if (untimely !== undefined) return untimely
      const signed = `${headers["x-webhook-timestamp"]}.${rawBody}`
      return equal(headers["x-webhook-signature"] ?? "", hmacSha256(secret, signed, "base64"))
        ? undefined
        : "x-webhook-signature: It was not made with Daily.WebhookSecret."
    },
  }
}
