/**
 * Whether a session-ended webhook comes from the platform, and what it names. A sender proves itself by `X-Api-Token`, as the
 * .NET middleware expects it, or by a signature of Standard Webhooks 1.0 over the raw body.
 */
import { createHmac } from "node:crypto"
import { Redacted } from "effect"
import type { SettingsTree } from "../Settings.ts"
import { equal } from "./equal.ts"

/** A signature's timestamp may differ by so much from the time here (Standard Webhooks recommends 5 minutes). */
export const TOLERANCE_SECONDS = 5 * 60

export interface SignedRequest {
  readonly apiToken: string | undefined
  readonly webhookId: string | undefined
  readonly webhookTimestamp: string | undefined
  readonly webhookSignature: string | undefined
  readonly rawBody: string
  /** the connection's own remote address */
  readonly socketAddress: string | undefined
  /** a proxy passed the request on: it has `Forwarded`, `Via` or an `X-Forwarded-…` header */
  readonly forwarded: boolean
}

/** Loopback as sockets name it, on an IPv6 socket too. */
const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address)

/** Whether any of them matches; all are compared, so that the time says nothing either. */
const anyEqual = (given: string, accepted: ReadonlyArray<string>): boolean =>
  accepted.reduce((found, each) => equal(given, each) || found, false)

/** `v1,<base64>` as Standard Webhooks signs `{id}.{timestamp}.{body}`; the secret is `whsec_` and base64. */
export const sign = (secret: string, id: string, timestamp: string, body: string): string =>
  `v1,${createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64")}`

/** Why a webhook is refused, in words that tell an honest sender what to change. */
export type Refusal = string

/** Accepts a webhook, or says why not. Any configured token or secret passes, two at once for rotation. */
export const verifyWebhook = (
  security: Pick<SettingsTree["Security"], "WebhookApiToken" | "WebhookSigningSecret">,
  request: SignedRequest,
  nowMillis: number,
): Refusal | undefined => {
  const tokens = security.WebhookApiToken.map(Redacted.value)
  const secrets = security.WebhookSigningSecret.map(Redacted.value)
  // The settings allow no secret where only this machine reaches the gate. What a proxy on this machine passes on comes from
  // elsewhere: a caller could end his own session here, and talk on beside the next one.
  if (tokens.length === 0 && secrets.length === 0) {
    return isLoopback(request.socketAddress) && !request.forwarded
      ? undefined
      : "Set Security.WebhookApiToken or Security.WebhookSigningSecret: without one, webhooks are taken from this machine only."
  }
  if (tokens.length > 0 && request.apiToken !== undefined) {
    return anyEqual(request.apiToken, tokens) ? undefined : "x-api-token: The token is wrong."
  }
  if (secrets.length === 0) return "x-api-token: Expected the token of Security.WebhookApiToken."
  const { rawBody, webhookId, webhookSignature, webhookTimestamp } = request
  if (webhookId === undefined || webhookTimestamp === undefined || webhookSignature === undefined) {
    return tokens.length > 0
      ? "Expected x-api-token, or webhook-id, webhook-timestamp and webhook-signature."
      : "Expected webhook-id, webhook-timestamp and webhook-signature."
  }
  if (!/^\d{1,12}$/.test(webhookTimestamp)) return "webhook-timestamp: Expected Unix seconds."
  if (Math.abs(Number(webhookTimestamp) - nowMillis / 1000) > TOLERANCE_SECONDS) {
    return "webhook-timestamp: The signature is too old or too new."
  }
  const expected = secrets.map((secret) => sign(secret, webhookId, webhookTimestamp, rawBody))
  const given = webhookSignature.split(" ").slice(0, 10)
  const matches = given.reduce((found, each) => anyEqual(each, expected) || found, false)
  return matches ? undefined : "webhook-signature: No signature matches."
}

const ID_FIELDS = ["conversationsessionid", "websessionid", "sessionid"]

/** The session ids that a webhook's body names, under either name in either case; undefined when it names none. */
export const sessionIdsOf = (body: unknown): ReadonlyArray<string> | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  const ids = Object.entries(body).flatMap(([name, value]) =>
    ID_FIELDS.includes(name.toLowerCase()) && typeof value === "string" && value.length > 0 && value.length <= 256
      ? [value]
      : [],
  )
  return ids.length === 0 ? undefined : [...new Set(ids)]
}
