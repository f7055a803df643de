/** The signature of Standard Webhooks 1.0. */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"

/**
 * The `webhook-signature` of one attempt: HMAC-SHA256 of `{id}.{timestamp}.{body}` under the base64 part of the secret.
 *
 * @param timestamp Unix seconds
 */
export const sign = (secret: Redacted.Redacted<string>, id: string, timestamp: number, body: string): string => {
  const key = Buffer.from(Redacted.value(secret).replace(/^whsec_/, ""), "base64")
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
}
