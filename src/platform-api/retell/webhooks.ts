/** Authenticates Retell's webhooks: one header has a time and an HMAC over body and time, made with the key of the API. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { hmacSha256 } from "../shared/digests.ts"
import { TOLERANCE_MILLIS } from "../webhooks/times.ts"

const SIGNATURE = /^v=(\d{1,15}),d=([0-9a-f]{64})$/

const signatureIn = (headers: VendorWebhook["headers"]) => SIGNATURE.exec(headers["x-retell-signature"] ?? "") ?? []

export const retellAuthentication = (key: string): Authentication => {
  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const [, time = ""] = signatureIn(headers)
    if (time === "") return "x-retell-signature: Expected v=<milliseconds>,d=<hexadecimal>."
    return Math.abs(Number(time) - now) > TOLERANCE_MILLIS
      ? "x-retell-signature: It is too old or too new by the gate's clock."
      : undefined
  }
  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined => {
    const refusal = refuses(headers, now)
    if (refusal !== undefined) return refusal
    const [, time = "", digest = ""] = signatureIn(headers)
    return equal(digest, hmacSha256(key, rawBody + time, "hex"))
      ? undefined
      : "x-retell-signature: It was not made with Retell.ApiKey."
  }

  return { proof: key, refuses, verify }
}
