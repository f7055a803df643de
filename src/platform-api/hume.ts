/**
 * Hume's Empathic Voice Interface. A start makes an access token, which the page gives to `hume` with the `configId` and the
 * `customSessionId` of `details`. The custom session id is the gate's, and comes back in webhooks.
 *
 * Hume alone chooses how long the token is valid (half an hour), and the token opens any number of chats until then. A chat lasts half an
 * hour at most, so an hour after the start every chat of a token is over.
 */
import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import { equal } from "../equal.ts"
import type { StartConfig } from "../Session.ts"
import type { HumeSettings } from "../settings/groups/vendors.ts"
import type { Adapter, AdapterContext, VendorWebhook } from "./adapter.ts"
import type { WebSession } from "./model.ts"
import { expiryOf, newSessionId } from "./own-session.ts"
import { hmacSha256 } from "./signatures.ts"
import type { Call } from "./transport.ts"
import {
  checkAgent,
  SessionId,
  saysConcurrency,
  startsNothing,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "./vendor.ts"

/** How far a webhook's time may differ (s). */
const TOLERANCE_SECONDS = 180
/** How long a token is valid where Hume does not say, and at most (s). */
const TOKEN_SECONDS = 30 * 60
/** The longest chat that a configuration may allow (ms). */
const LONGEST_CHAT_MILLIS = 30 * 60_000

const Token = Schema.Struct({
  access_token: Schema.NonEmptyString,
  expires_in: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 1, maximum: 24 * 3_600 }))),
})
const decodeWebhook = Schema.decodeUnknownOption(
  Schema.Struct({
    event_name: Schema.String,
    chat_id: Schema.optionalKey(SessionId),
    config_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
    custom_session_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  }),
)

export const hume = (
  { ApiKey, ConfigId, SecretKey, WebhookSecret }: typeof HumeSettings.Type,
  { campaign, send }: AdapterContext,
): Adapter => {
  const key = Redacted.value(ApiKey)
  const secret = Redacted.value(WebhookSecret)
  const basic = Buffer.from(`${key}:${Redacted.value(SecretKey)}`).toString("base64")
  const endpointWith = (headers: Readonly<Record<string, string>>) =>
    vendorEndpoint({
      vendor: "Hume",
      campaign,
      headers,
      secrets: [ApiKey, SecretKey, WebhookSecret, Redacted.make(basic)],
      isAtCapacity: saysConcurrency,
    })
  const tokens = endpointWith({ authorization: `Basic ${basic}` })
  const configs = endpointWith({ "x-hume-api-key": key })

  const grant = (kind: Call["kind"], group?: string) => {
    const form = { grant_type: "client_credentials" }
    return send(tokens, Token, { kind, method: "POST", path: "oauth2-cc/token", form }, group)
  }

  const mint = Effect.fnUntraced(function* (_: StartConfig, group: string) {
    const { access_token: token, expires_in = TOKEN_SECONDS } = yield* startsNothing(grant("start", group))
    const expiry = Math.ceil((yield* Clock.currentTimeMillis) / 1000 + expires_in)
    const id = newSessionId(expiry)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000))
    const details = { configId: ConfigId, customSessionId: id }
    const session: WebSession = {
      sessionIds: [id],
      credential: { shape: "token", platform: "hume", token, expiresAt, details },
    }
    return session
  })

  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const time = headers["x-hume-ai-webhook-timestamp"] ?? ""
    if (!/^\d{1,12}$/.test(time)) return "x-hume-ai-webhook-timestamp: Expected the time of the signature, in seconds."
    if (Math.abs(Number(time) - now / 1000) > TOLERANCE_SECONDS)
      return "x-hume-ai-webhook-timestamp: It is too old or too new."
    return headers["x-hume-ai-webhook-signature"] === undefined
      ? "x-hume-ai-webhook-signature: Expected the signature."
      : undefined
  }
  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined => {
    const refusal = refuses(headers, now)
    if (refusal !== undefined) return refusal
    const signed = `${rawBody}.${headers["x-hume-ai-webhook-timestamp"]}`
    return equal(headers["x-hume-ai-webhook-signature"] ?? "", hmacSha256(secret, signed, "hex"))
      ? undefined
      : "x-hume-ai-webhook-signature: It was not made with Hume.WebhookSecret."
  }

  return {
    mint,
    status: (id) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        now >= (expiryOf(id) ?? Number.POSITIVE_INFINITY) + LONGEST_CHAT_MILLIS ? stateOf(id, true) : unknownState,
      ),
    // holding the slot until the token expires would bound nothing: the token opens several chats at once
    pageEnds: () => 0,
    webhooks: {
      proof: secret,
      refuses,
      verify,
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { chat_id, config_id, custom_session_id, event_name } = webhook
        const isOurs = typeof custom_session_id === "string" && expiryOf(custom_session_id) !== undefined
        if (event_name !== "chat_ended" || !isOurs || (config_id ?? ConfigId) !== ConfigId) return { _tag: "ignored" }
        return { _tag: "ended", sessions: [[custom_session_id, ...(chat_id === undefined ? [] : [chat_id])]] }
      },
    },
    check: checkAgent(
      Effect.andThen(
        grant("read"),
        send(configs, Schema.Unknown, {
          kind: "read",
          method: "GET",
          path: `v0/evi/configs/${encodeURIComponent(ConfigId)}`,
        }),
      ),
      {
        group: "Hume",
        agent: "ConfigId",
        key: "ApiKey or Hume.SecretKey",
        isBounded: false,
        bounds:
          "a token opens any number of chats, with any configuration of the account, for half an hour, which is longer than the start " +
          "window; it cannot be revoked, and only Hume's limit of concurrent chats bounds it",
      },
    ),
  }
}
