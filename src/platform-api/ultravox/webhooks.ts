/** Authenticates Ultravox's webhooks: HMACs over body and time, in two headers. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { hmacSha256 } from "../shared/digests.ts"
import { TOLERANCE_MILLIS } from "../webhooks/times.ts"

/**
 * How late a webhook may arrive (ms). Ultravox sends a webhook again until it is accepted. An end is idempotent, so a late one with the
 * right signature does no harm, while a refused one holds the slot until the audit.
 */
const LATEST_MILLIS = 24 * 60 * 60_000

const signedIn = (headers: VendorWebhook["headers"]) => ({
  time: headers["x-ultravox-webhook-timestamp"] ?? "",
  given: headers["x-ultravox-webhook-signature"] ?? "",
})

export const ultravoxAuthentication = (secret: string): Authentication => {
  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const { given, time } = signedIn(headers)
    // a time without a zone is in UTC
    const millis = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`)
    if (given === "" || Number.isNaN(millis)) {
      return "x-ultravox-webhook-signature, x-ultravox-webhook-timestamp: Expected a signature and its time."
    }
    return now - millis > LATEST_MILLIS || millis - now > TOLERANCE_MILLIS
      ? "x-ultravox-webhook-timestamp: It is too old or too new by the gate's clock."
      : undefined
  }
  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined => {
    const refusal = refuses(headers, now)
    if (refusal !== undefined) return refusal
    const { given, time } = signedIn(headers)
    const expected = hmacSha256(secret, rawBody + time, "hex")
    const matches = given
      .split(",")
      .slice(0, 10)
      .reduce((found, each) => equal(each.trim(), expected) || found, false)
    return matches ? undefined : "x-ultravox-webhook-signature: It was not made with Ultravox.WebhookSecret."
  }

  return { proof: secret, refuses, verify }
}
