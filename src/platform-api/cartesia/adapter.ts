/**
 * Cartesia Line. A start makes an access token, with which the page opens the agent's WebSocket. The page's first message names the
 * stream by the `streamId` of `details`, which webhooks repeat as the id of the call. Cartesia signs nothing: a webhook carries the secret
 * itself in a header.
 */

import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import type { Call } from "../requests/transport.ts"
import { expiryOf, newSessionId } from "../shared/own-session.ts"
import { makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import { makeStatusByTime } from "../shared/status-by-time.ts"
import {
  cannotList,
  checkAgent,
  maybe,
  millisOf,
  saysConcurrency,
  startsNothing,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { CartesiaSettings } from "./settings.ts"
import { cartesiaAuthentication } from "./webhooks.ts"

/** The version of the API that has these shapes. */
const VERSION = "2026-08-14"
/** The version of the agents' WebSocket, which Cartesia runs beside the API's. */
const STREAM_VERSION = "2025-04-16"

const Token = Schema.Struct({ token: Schema.NonEmptyString })
const decodeWebhook = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.String,
    request_id: maybe(Schema.String),
    agent_id: maybe(Schema.String),
    call: maybe(
      Schema.Struct({ id: maybe(Schema.String), stream_id: maybe(Schema.String), agent_id: maybe(Schema.String) }),
    ),
  }),
)
const ENDS = new Set(["call_completed", "call_failed"])

const Agent = Schema.Struct({ webhook_id: Schema.optionalKey(Schema.NullOr(Schema.String)) })
const KnownCall = Schema.Struct({ id: Schema.String, status: maybe(Schema.String), start_time: maybe(Schema.String) })
const Calls = Schema.Struct({ data: Schema.Array(KnownCall), has_more: maybe(Schema.Boolean) })
/** States of a call that is over; in any other it may run. */
const OVER: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"])

export const cartesia = (
  { AgentId, ApiKey, BaseUrl, WebhookSecret }: CartesiaSettings,
  { campaign, lifetimeSeconds, send }: AdapterContext,
): Adapter => {
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
        details: { streamId: id, version: STREAM_VERSION },
      },
    }
    return session
  })

  const recentCalls = makeRecentCalls(
    (_, after) => {
      const query = new URLSearchParams({
        agent_id: AgentId,
        limit: String(PAGE_LIMIT),
        ...(after === undefined ? {} : { starting_after: after }),
      })
      const page: Call = { kind: "read", method: "GET", path: `agents/calls?${query}`, shownPath: "agents/calls" }
      return Effect.map(send(endpoint, Calls, page), ({ data, has_more }) => ({
        items: data,
        next: has_more === true ? data.at(-1)?.id : undefined,
      }))
    },
    ({ start_time }) => millisOf(start_time),
  )
  const statusByTime = makeStatusByTime(recentCalls, ({ start_time, status }) => ({
    startedAt: millisOf(start_time),
    isOver: OVER.has(status),
  }))
  /** A call that is over may be followed by another one until its token has expired. */
  const afterExpiry = (id: string, isOver: boolean) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      isOver && now < (expiryOf(id) ?? Number.POSITIVE_INFINITY) ? unknownState : stateOf(id, isOver),
    )
  /** The call of this stream, where Cartesia names calls by the streams of their pages; else by the time of their start. */
  const status = (id: string) => {
    const path = `agents/calls/${encodeURIComponent(id)}`
    return send(endpoint, KnownCall, { kind: "read", method: "GET", path, shownPath: "agents/calls/:id" }).pipe(
      Effect.flatMap(({ status }) => afterExpiry(id, OVER.has(status))),
      Effect.catchIf(cannotList, () => statusByTime(id)),
    )
  }

  return {
    mint,
    status,
    pageEnds: ({ sessionIds: [id = ""] }) => expiryOf(id) ?? 0,
    webhooks: {
      ...cartesiaAuthentication(Redacted.value(WebhookSecret)),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { agent_id, call, request_id, type } = webhook
        const id = [call?.stream_id, call?.id, request_id].find((each) => expiryOf(each ?? "") !== undefined)
        if (!ENDS.has(type)) return { _tag: "ignored", because: "other_event" }
        return (agent_id ?? call?.agent_id ?? AgentId) === AgentId && id
          ? { _tag: "ended", sessions: [[id]] }
          : { _tag: "ignored", because: "other_session" }
      },
    },
    check: checkAgent(send(endpoint, Schema.Unknown, { kind: "read", method: "GET", path: `agents/${agent}` }), {
      settings: Agent,
      breaks: ({ webhook_id }) => [
        Effect.succeed(
          webhook_id === null
            ? [
                "The agent has no webhook (webhook_id): ends of calls that no page reports are noticed minutes late. Add one.",
              ]
            : [],
        ),
      ],
      group: "Cartesia",
      baseUrl: campaign.BaseUrl,
      agent: "AgentId",
      bounds:
        `a token opens any number of calls of the account's agents until it expires, ${lifetimeSeconds} s after it was made; ` +
        "Cartesia's limit of concurrent calls bounds them",
    }),
  }
}
