/** Authenticates ElevenLabs' webhooks: one header has a time and HMACs over time and body. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { hmacSha256 } from "../shared/digests.ts"

/** How far a webhook's time may differ (s). */
const TOLERANCE_SECONDS = 30 * 60
/** How many signatures of one webhook are compared: while a secret is rotated, ElevenLabs signs with the old and the new one. */
const MOST_SIGNATURES = 5

/** The parts `name=value` in any order, with or without spaces; versions of the scheme that are not known are passed over. */
const signatureIn = (headers: VendorWebhook["headers"]) => {
  const parts = (headers["elevenlabs-signature"] ?? "").split(",").map((part) => part.trim().split("=", 2))
  const valuesOf = (name: string) => parts.flatMap(([key, value = ""]) => (key === name ? [value] : []))
  const [time = ""] = valuesOf("t")
  return { time: /^\d{1,12}$/.test(time) ? time : "", digests: valuesOf("v0").slice(0, MOST_SIGNATURES) }
}

export const elevenLabsAuthentication = (secret: string): Authentication => {
  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const { digests, time } = signatureIn(headers)
    if (time === "" || digests.length === 0) return "elevenlabs-signature: Expected t=<seconds>,v0=<hexadecimal>."
    return Math.abs(Number(time) - now / 1000) > TOLERANCE_SECONDS
      ? "elevenlabs-signature: It is too old or too new by the gate's clock."
      : undefined
  }
  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined => {
    const refusal = refuses(headers, now)
    if (refusal !== undefined) return refusal
    const { digests, time } = signatureIn(headers)
    const expected = hmacSha256(secret, `${time}.${rawBody}`, "hex")
    return digests.map((digest) => equal(digest, expected)).includes(true)
      ? undefined
      : "elevenlabs-signature: It was not made with ElevenLabs.WebhookSecret."
  }

  return { proof: secret, refuses, verify }
}
