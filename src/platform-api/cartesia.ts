/**
 * Cartesia Line. A start makes an access token, with which the page opens the agent's WebSocket. The page's first message names the
 * stream by the `streamId` of `details`, which webhooks repeat as the id of the call. Cartesia signs nothing: a webhook carries the secret
 * itself in a header.
 */
import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import { equal } from "../equal.ts"
import type { StartConfig } from "../Session.ts"
import type { CartesiaSettings } from "../settings/groups/vendors.ts"
import type { Adapter, AdapterContext, VendorWebhook } from "./adapter.ts"
import type { WebSession } from "./model.ts"
import { expiryOf, newSessionId } from "./own-session.ts"
import type { Call } from "./transport.ts"
import { checkAgent, saysConcurrency, startsNothing, vendorEndpoint } from "./vendor.ts"

/** The version of the API that has these shapes. */
const VERSION = "2025-04-16"

const Token = Schema.Struct({ token: Schema.NonEmptyString })
const decodeWebhook = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.String,
    request_id: Schema.optionalKey(Schema.String),
    agent_id: Schema.optionalKey(Schema.String),
  }),
)
const ENDS = new Set(["call_completed", "call_failed"])

export const cartesia = (
  { AgentId, ApiKey, BaseUrl, WebhookSecret }: typeof CartesiaSettings.Type,
  { campaign, lifetimeSeconds, send }: AdapterContext,
): Adapter => {
  const secret = Redacted.value(WebhookSecret)
  const endpoint = vendorEndpoint({
    vendor: "Cartesia",
    campaign,
    headers: { authorization: `Bearer ${Redacted.value(ApiKey)}`, "cartesia-version": VERSION },
    secrets: [ApiKey, WebhookSecret],
    isAtCapacity: saysConcurrency,
  })
  const agent = encodeURIComponent(AgentId)

  const mint = Effect.fnUntraced(function* (_: StartConfig, group: string) {
    const expiry = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const body = { grants: { agent: true }, expires_in: lifetimeSeconds }
    const start: Call = { kind: "start", method: "POST", path: "access-token", body }
    const { token } = yield* startsNothing(send(endpoint, Token, start, group))
    const id = newSessionId(expiry)
    const session: WebSession = {
      sessionIds: [id],
      credential: {
        shape: "url+token",
        platform: "cartesia",
        url: `${BaseUrl.replace(/^http/, "ws")}agents/stream/${agent}`,
        token,
        expiresAt: DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000)),
        details: { streamId: id, version: VERSION },
      },
    }
    return session
  })

  const refuses = (headers: VendorWebhook["headers"]): string | undefined =>
    equal(headers["x-webhook-secret"] ?? "", secret) ? undefined : "x-webhook-secret: It is not Cartesia.WebhookSecret."

  return {
    mint,
    pageEnds: ({ sessionIds: [id = ""] }) => expiryOf(id) ?? 0,
    webhooks: {
      refuses,
      // the header proves it, whatever the body is
      verify: ({ headers }) => refuses(headers),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { agent_id, request_id = "", type } = webhook
        return ENDS.has(type) && (agent_id ?? AgentId) === AgentId && expiryOf(request_id) !== undefined
          ? { _tag: "ended", sessions: [[request_id]] }
          : { _tag: "ignored" }
      },
    },
    check: checkAgent(send(endpoint, Schema.Unknown, { kind: "read", method: "GET", path: `agents/${agent}` }), {
      group: "Cartesia",
      agent: "AgentId",
      bounds:
        `a token opens any number of calls of the account's agents until it expires, ${lifetimeSeconds} s after it was made; ` +
        "Cartesia's limit of concurrent calls bounds them",
    }),
  }
}
