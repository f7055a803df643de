/**
 * Authenticates Vapi's webhooks. Vapi sends them with the credential that the operator has chosen for the server URL: the secret as a bearer
 * (recommended), the secret as `X-Vapi-Secret` (older servers), or an HMAC whose algorithm, encoding, prefix, headers and payload are
 * settings of that credential. All but the names of unusual headers is recognized from the webhook itself.
 *
 * Source: docs.vapi.ai/server-url/server-authentication and `HMACAuthenticationPlan` of Vapi's API, read on 2026-11-26.
 */
import { createHmac } from "node:crypto"
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { timeRefusal } from "../webhooks/times.ts"

type Headers = VendorWebhook["headers"]

/** The default name, what guides set for other receivers, and the names of Standard Webhooks and Svix. */
const SIGNATURE_HEADERS = ["x-signature", "x-vapi-signature", "webhook-signature", "svix-signature"]
const TIME_HEADERS = ["x-timestamp", "x-vapi-timestamp", "webhook-timestamp", "svix-timestamp"]
const ID_HEADERS = ["webhook-id", "svix-id"]

/** How many signatures of one header are compared: a sender that rotates its secret sends two. */
const MOST_SIGNATURES = 5
/** The longest prefix of a signature, such as `sha256=` or `v1,`. */
const LONGEST_PREFIX = 16
/** … and with it the longest signature, which is SHA-512 in hexadecimal. Looking for a digest in a longer text would cost more time. */
const LONGEST_SIGNATURE: number = LONGEST_PREFIX + 128

const ALGORITHMS = [
  ["sha1", 20],
  ["sha256", 32],
  ["sha512", 64],
] as const

interface Signature {
  readonly algorithm: (typeof ALGORITHMS)[number][0]
  readonly encoding: "hex" | "base64"
  readonly digest: string
}

/** A signature after its prefix: its length says which algorithm made it. */
const signatureOf = (text: string): Signature | undefined => {
  if (text.length > LONGEST_SIGNATURE) return undefined
  for (const [algorithm, bytes] of ALGORITHMS) {
    for (const [encoding, digest] of [
      ["hex", new RegExp(`[0-9a-f]{${bytes * 2}}$`, "i")],
      ["base64", new RegExp(`[A-Za-z0-9+/]{${Math.ceil((bytes * 4) / 3)}}={1,2}$`)],
    ] as const) {
      const found = digest.exec(text)
      if (found === null || found.index > LONGEST_PREFIX) continue
      const prefix = text.slice(0, found.index)
      // without a prefix the whole text is the digest; with one, the digest does not continue to the left
      if (prefix !== "" && /[A-Za-z0-9+/]$/.test(prefix)) continue
      return { algorithm, encoding, digest: encoding === "hex" ? found[0].toLowerCase() : found[0] }
    }
  }
  return undefined
}

const firstOf = (names: ReadonlyArray<string>, headers: Headers): string | undefined =>
  names.find((name) => headers[name] !== undefined)

/** The texts that may have been signed: with the id and the time of the webhook where it has them, or the body alone. */
const signedTexts = (headers: Headers, time: string | undefined, rawBody: string): ReadonlyArray<string> => {
  const id = headers[firstOf(ID_HEADERS, headers) ?? ""]
  const timed = time === undefined ? [] : [`${time}.${rawBody}`]
  return [...(id === undefined || time === undefined ? [] : [`${id}.${time}.${rawBody}`]), ...timed, rawBody]
}

/** @param signatureHeader the name of the signature's header in lower case, where the operator has chosen an unusual one */
export const vapiAuthentication = (secret: string, signatureHeader: string | undefined): Authentication => {
  const signatureHeaders = [...(signatureHeader === undefined ? [] : [signatureHeader]), ...SIGNATURE_HEADERS]

  const showsSecret = (headers: Headers): boolean =>
    equal(headers.authorization ?? "", `Bearer ${secret}`) || equal(headers["x-vapi-secret"] ?? "", secret)

  const refuses = (headers: Headers, now: number): string | undefined => {
    if (showsSecret(headers)) return undefined
    const name = firstOf(signatureHeaders, headers)
    if (name === undefined) {
      const given = ["authorization", "x-vapi-secret"].filter((header) => headers[header] !== undefined)
      return given.length > 0
        ? `${given.join(", ")}: It is not the secret of Vapi.WebhookSecret.`
        : "Expected the secret of Vapi.WebhookSecret as Authorization: Bearer or x-vapi-secret, or a signature as x-signature."
    }
    if (signatureOf(headers[name]?.trim().split(/\s+/)[0] ?? "") === undefined) {
      return `${name}: Expected an HMAC in hexadecimal or base64, with a prefix of ${LONGEST_PREFIX} characters at most.`
    }
    const timeHeader = firstOf(TIME_HEADERS, headers)
    return timeHeader === undefined ? undefined : timeRefusal(timeHeader, headers, now)
  }

  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined => {
    const refusal = refuses(headers, now)
    if (refusal !== undefined || showsSecret(headers)) return refusal
    const name = firstOf(signatureHeaders, headers) ?? ""
    const given = (headers[name] ?? "").trim().split(/\s+/).slice(0, MOST_SIGNATURES).map(signatureOf)
    const [first] = given
    if (first === undefined) return `${name}: Expected an HMAC.`
    const time = headers[firstOf(TIME_HEADERS, headers) ?? ""]
    // the algorithm of the first one only: each text costs one digest of the body
    const expected = signedTexts(headers, time, rawBody).map((text) =>
      createHmac(first.algorithm, secret).update(text).digest(first.encoding),
    )
    const matches = given
      .flatMap((signature) => expected.map((digest) => equal(signature?.digest ?? "", digest)))
      .includes(true)
    return matches ? undefined : `${name}: It was not made with Vapi.WebhookSecret.`
  }

  return { proof: [secret, signatureHeader].join("\n"), refuses, verify }
}
