/**
 * Retell, version 3 of its API. A start registers a web call, whose access token the page gives to `retell-client-js-sdk` with the
 * transport and the ICE servers in `details`.
 */

import { DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { Credential } from "../../protocol/credential.ts"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call } from "../requests/transport.ts"
import { endsUnreported, joinsTooLate, webhookElsewhere } from "../shared/broken-settings.ts"
import { usedOf } from "../shared/call-use.ts"
import { makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import {
  CORRELATION,
  checkAgent,
  chosenIn,
  correlationIn,
  hint,
  isNotFound,
  metadataOf,
  orUnknown,
  SessionId,
  saysConcurrency,
  startedBy,
  stateOf,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { RetellSettings } from "./settings.ts"
import { retellAuthentication } from "./webhooks.ts"

/** Retell's bounds of a call's length (ms). */
const SHORTEST_CALL_MILLIS = 60_000
const LONGEST_CALL_MILLIS = 2 * 60 * 60_000

const WebCall = Schema.Struct({
  call_id: SessionId,
  access_token: Schema.NonEmptyString,
  transport: Schema.optionalKey(Schema.NullOr(Schema.String)),
  ice_servers: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Json))),
  url: Schema.optionalKey(Schema.NullOr(Schema.String)),
  expires_at: hint(Schema.Finite),
})

const KnownCall = Schema.Struct({
  call_id: SessionId,
  call_status: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Schema.Unknown),
})
const Calls = Schema.Struct({
  items: Schema.Array(KnownCall),
  has_more: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  pagination_key: Schema.optionalKey(Schema.NullOr(Schema.String)),
})

const Concurrency = Schema.Struct({
  current_concurrency: Schema.Finite,
  concurrency_limit: Schema.Finite,
  /** calls of the limit that are for callers by telephone alone */
  reserved_inbound_concurrency: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
})

const Agent = Schema.Struct({
  webhook_url: Schema.optionalKey(Schema.NullOr(Schema.String)),
  webhook_events: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
})
/** How long a call waits for its caller (s). */
const JOIN_SECONDS = 30

const decodeWebhook = Schema.decodeUnknownOption(
  Schema.Struct({
    event: Schema.String,
    call: Schema.Struct({
      ...KnownCall.fields,
      duration_ms: hint(Schema.Finite),
      /** in US cents */
      call_cost: hint(Schema.Struct({ combined_cost: Schema.Finite })),
    }),
  }),
)

const ENDS = new Set(["call_ended", "call_analyzed"])
const OVER = new Set(["ended", "error", "not_connected"])

export const retell = (
  { AgentId, ApiKey }: RetellSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const key = Redacted.value(ApiKey)
  const endpoint = vendorEndpoint({
    vendor: "Retell",
    campaign,
    headers: { authorization: `Bearer ${key}` },
    secrets: [ApiKey],
    isAtCapacity: saysConcurrency,
  })
  const read = <A>(data: Schema.Decoder<A>, call: Omit<Call, "kind">) => send(endpoint, data, { kind: "read", ...call })
  const millisFor = (seconds: number): number =>
    Math.min(Math.max(seconds * 1000, SHORTEST_CALL_MILLIS), LONGEST_CALL_MILLIS)

  const credentialOf = (call: typeof WebCall.Type): Credential => ({
    shape: "token",
    platform: "retell",
    token: call.access_token,
    ...Option.match(DateTime.make(call.expires_at ?? Number.NaN), {
      onNone: () => ({}),
      onSome: (time) => ({ expiresAt: DateTime.formatIso(time) }),
    }),
    details: {
      callId: call.call_id,
      transport: call.transport ?? null,
      iceServers: call.ice_servers ?? [],
      ...(call.url ? { url: call.url } : {}),
    },
  })

  const mint = (config: StartConfig, group: string) => {
    const body = {
      agent_id: AgentId,
      metadata: metadataOf(config),
      retell_llm_dynamic_variables: config.dynamicVariables,
      agent_override: { agent: { max_call_duration_ms: millisFor(config.callSeconds ?? longestCallSeconds) } },
    }
    return Effect.map(
      send(
        endpoint,
        WebCall,
        { kind: "start", method: "POST", path: "v3/create-web-call", body, fromCaller: chosenIn(config) },
        group,
      ),
      (call): WebSession => ({ sessionIds: [call.call_id], credential: credentialOf(call) }),
    )
  }

  const status = (id: string) =>
    read(KnownCall, {
      method: "GET",
      path: `v2/get-call/${encodeURIComponent(id)}`,
      shownPath: "v2/get-call/:id",
    }).pipe(
      Effect.map(({ call_status = "" }) =>
        stateOf(id, OVER.has(call_status), call_status !== "registered" && call_status !== "not_connected"),
      ),
      orUnknown,
    )

  /** By the gate's id of a start, and not by time: a call that nobody has joined has no time of its start. */
  const recentCalls = makeRecentCalls(
    (correlationId, next) => {
      const metadata = [{ type: "string", op: "eq", key: CORRELATION, value: correlationId }]
      const body = {
        filter_criteria: { metadata },
        limit: PAGE_LIMIT,
        ...(next === undefined ? {} : { pagination_key: next }),
      }
      return read(Calls, { method: "POST", path: "v3/list-calls", body }).pipe(
        Effect.flatMap(({ has_more, items, pagination_key }) =>
          has_more === true && !pagination_key
            ? malformed("read", "the list of Retell has more pages, and does not say how to read them")
            : Effect.succeed({ items, next: has_more === true ? (pagination_key ?? undefined) : undefined }),
        ),
      )
    },
    () => undefined,
  )
  const list = (correlationId: string, since: number) =>
    startedBy(recentCalls(correlationId, since), correlationId, ({ call_id: id, metadata }) => ({ id, metadata }))

  const end = ({ sessionIds: [id = ""] }: WebSession) =>
    read(Schema.Unknown, {
      method: "POST",
      path: `v2/stop-call/${encodeURIComponent(id)}`,
      shownPath: "v2/stop-call/:id",
    }).pipe(
      // the token opens the call until it is over, as the call's state shows
      Effect.andThen(status(id)),
      Effect.map((state) => state.status === "over"),
      Effect.catchIf(isNotFound, () => Effect.succeed(false)),
    )

  return {
    mint,
    status,
    list,
    limitsCalls: true,
    end,
    capacity: Effect.map(read(Concurrency, { method: "GET", path: "get-concurrency" }), (found) => ({
      // not `concurrency_burst_limit`: the calls up to it cost more
      limit: Math.max(0, Math.floor(found.concurrency_limit - (found.reserved_inbound_concurrency ?? 0))),
      inUse: Math.ceil(found.current_concurrency),
    })),
    webhooks: {
      ...retellAuthentication(key),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { call, event } = webhook
        if (!ENDS.has(event)) return { _tag: "ignored", because: "other_event" }
        if (correlationIn(call.metadata) === undefined) return { _tag: "ignored", because: "other_session" }
        const { call_cost, duration_ms } = call
        const used = usedOf(duration_ms && duration_ms / 1000, call_cost && call_cost.combined_cost / 100)
        // the cost may be known only after the call was analysed
        return event === "call_analyzed" && used.used === undefined
          ? { _tag: "ignored", because: "other_event" }
          : { _tag: "ended", sessions: [[call.call_id]], ...used }
      },
    },
    check: checkAgent(read(Schema.Unknown, { method: "GET", path: `get-agent/${encodeURIComponent(AgentId)}` }), {
      group: "Retell",
      baseUrl: campaign.BaseUrl,
      agent: "AgentId",
      settings: Agent,
      breaks: ({ webhook_events, webhook_url }) => [
        Effect.succeed([
          ...webhookElsewhere(webhook_url, "retell", "webhook_url"),
          ...endsUnreported(webhook_events, ["call_ended"], "webhook_events"),
          ...joinsTooLate("Retell", JOIN_SECONDS, { lifetimeSeconds }),
        ]),
      ],
      bounds:
        "a token is for one call; Retell says in each how long it is valid, which may be longer than the start window. It ends a call that " +
        "nobody has joined after 30 s, so a longer start window is of no use",
    }),
  }
}
