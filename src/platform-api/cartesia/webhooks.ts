/** Authenticates Cartesia's webhooks. Cartesia signs nothing: a webhook carries the secret itself in a header. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"

export const cartesiaAuthentication = (secret: string): Authentication => {
  const refuses = (headers: VendorWebhook["headers"]): string | undefined =>
    equal(headers["x-webhook-secret"] ?? "", secret) ? undefined : "x-webhook-secret: It is not Cartesia.WebhookSecret."

  // the header proves it, whatever the body is
  return { refuses, verify: ({ headers }) => refuses(headers) }
}
