/**
 * Authenticates a session-ended webhook and reads its session ids. A sender authenticates with `X-Api-Token`, as in the .NET
 * middleware, or with a Standard Webhooks 1.0 signature over the raw body.
 *
 * It is not among the adapter's `webhooks`, because it has an address and secrets of the whole gate: it ends sessions of any campaign,
 * also for a host with a platform of its own.
 */
import { Redacted } from "effect"
import { equalsAny } from "../../lib/equal.ts"
import { isLoopback } from "../../lib/ip/loopback.ts"
import { sign } from "../../lib/standard-webhooks.ts"
import type { SettingsTree } from "../../settings/Settings.ts"
import { TOLERANCE_MILLIS } from "../webhooks/times.ts"

export interface SignedRequest {
  readonly apiToken: string | undefined
  readonly webhookId: string | undefined
  readonly webhookTimestamp: string | undefined
  readonly webhookSignature: string | undefined
  readonly rawBody: string
  /** the connection's own remote address */
  readonly socketAddress: string | undefined
  /** a proxy forwarded the request: it has `Forwarded`, `Via` or an `X-Forwarded-…` header */
  readonly forwarded: boolean
}

/**
 * Returns why a webhook is refused, saying what to change, or undefined if it is accepted. Any configured token or secret is valid, so that they can be rotated.
 * Without one, webhooks are accepted from this machine only, and none if other machines reach the gate (`LocalWebhooks`).
 *
 * @param isUsed a campaign uses the default platform, whose webhook this is
 */
export const verifyWebhook = (
  security: Pick<SettingsTree["Security"], "LocalWebhooks" | "WebhookApiToken" | "WebhookSigningSecret">,
  request: SignedRequest,
  nowMillis: number,
  isUsed = true,
): string | undefined => {
  const tokens = security.WebhookApiToken.map(Redacted.value)
  const secrets = security.WebhookSigningSecret.map(Redacted.value)
  // Even where only this machine reaches the gate: requests through a proxy on this machine come from
  // outside: a caller could report the end of their own session, keep talking, and so let one caller too many in.
  if (tokens.length === 0 && secrets.length === 0) {
    if (!isUsed) {
      return "No campaign uses the default platform, whose webhook this is. To use it anyway, set Security.WebhookApiToken."
    }
    if (!security.LocalWebhooks) {
      return "Set Security.WebhookApiToken or Security.WebhookSigningSecret: without one, webhooks are refused."
    }
    return isLoopback(request.socketAddress) && !request.forwarded
      ? undefined
      : "Set Security.WebhookApiToken or Security.WebhookSigningSecret: without one, webhooks are accepted from this machine only."
  }
  if (tokens.length > 0 && request.apiToken !== undefined) {
    return equalsAny(request.apiToken, tokens) ? undefined : "x-api-token: The token is wrong."
  }
  if (secrets.length === 0) return "x-api-token: Expected the token of Security.WebhookApiToken."
  const { rawBody, webhookId, webhookSignature, webhookTimestamp } = request
  if (webhookId === undefined || webhookTimestamp === undefined || webhookSignature === undefined) {
    return tokens.length > 0
      ? "Expected x-api-token, or webhook-id, webhook-timestamp and webhook-signature."
      : "Expected webhook-id, webhook-timestamp and webhook-signature."
  }
  if (!/^\d{1,12}$/.test(webhookTimestamp)) return "webhook-timestamp: Expected Unix seconds."
  if (Math.abs(Number(webhookTimestamp) * 1000 - nowMillis) > TOLERANCE_MILLIS) {
    return "webhook-timestamp: The signature is too old or too new by the gate's clock."
  }
  const expected = secrets.map((secret) => sign(secret, webhookId, webhookTimestamp, rawBody))
  const given = webhookSignature.split(" ").slice(0, 10)
  const matches = given.reduce((found, each) => equalsAny(each, expected) || found, false)
  return matches ? undefined : "webhook-signature: No signature matches."
}

const ID_FIELDS = ["conversationsessionid", "websessionid", "sessionid"]

/** The session ids in a webhook's body, under any of their names in any letter case; undefined if there are none. */
export const sessionIdsOf = (body: unknown): ReadonlyArray<string> | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  const ids = Object.entries(body).flatMap(([name, value]) =>
    ID_FIELDS.includes(name.toLowerCase()) && typeof value === "string" && value.length > 0 && value.length <= 256
      ? [value]
      : [],
  )
  return ids.length === 0 ? undefined : [...new Set(ids)]
}
