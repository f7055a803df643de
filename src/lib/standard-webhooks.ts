/**
 * The signature of Standard Webhooks 1.0, for senders and receivers.
 *
 * The package `standardwebhooks` is not used: its HMAC is plain JavaScript, and it reads `Date.now` instead of the store's time.
 * `effect/crypto` has an asynchronous HMAC and nothing of Standard Webhooks. With `node:crypto` a signature is one expression.
 */
import { createHmac } from "node:crypto"

/**
 * The `webhook-signature` of one attempt, `v1,<base64>`: HMAC-SHA256 of `{id}.{timestamp}.{body}`.
 *
 * @param secret `whsec_` and the key in base64
 * @param timestamp Unix seconds, as `webhook-timestamp` has them
 */
export const sign = (secret: string, id: string, timestamp: string, body: string): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64")}`
