/**
 * Ultravox. A start makes a call of the agent, which the page joins with `ultravox-client` by its address. The call must be joined within
 * the start window, or within two minutes if that is shorter. If the gate's address is set, each call names the gate's webhook; otherwise
 * the account's webhook must be set to it.
 */

import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call } from "../requests/transport.ts"
import { endsUnreported, goesToGate } from "../shared/broken-settings.ts"
import { secondsBetween, usedOf } from "../shared/call-use.ts"
import { CLOCK_DIFFERENCE_MILLIS, makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import {
  CORRELATION,
  checkAgent,
  chosenIn,
  correlationIn,
  isNotFound,
  maybe,
  metadataOf,
  millisOf,
  orUnknown,
  SessionId,
  saysConcurrency,
  startedBy,
  stateOf,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { VendorFailure } from "../shared/vendor-answer.ts"
import type { UltravoxSettings } from "./settings.ts"
import { ultravoxAuthentication } from "./webhooks.ts"

/** A 429 at a start means that every call is taken, unless it mentions the rate of requests (docs.ultravox.ai/essentials/concurrency). */
const saysTooManyCalls = (failure: VendorFailure): boolean =>
  saysConcurrency(failure) || (failure.status === 429 && !/throttl|rate limit|requests per/i.test(failure.text))

const Started = Schema.Struct({ callId: SessionId, joinUrl: Schema.NonEmptyString })
const Known = Schema.Struct({
  callId: SessionId,
  created: Schema.optionalKey(Schema.NullOr(Schema.String)),
  ended: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** when the caller joined; null before */
  joined: Schema.optionalKey(Schema.NullOr(Schema.String)),
  metadata: Schema.optionalKey(Schema.Unknown),
})
const Calls = Schema.Struct({
  results: Schema.Array(Known),
  next: Schema.optionalKey(Schema.NullOr(Schema.String)),
})
const Account = Schema.Struct({
  activeCalls: Schema.Finite,
  /** null: the plan has no hard cap, and a start is refused with 429 when the load is too high */
  allowedConcurrentCalls: Schema.NullOr(Schema.Finite),
})

/** The webhooks of the account; those with an `agentId` are sent for calls of this agent alone. */
const AccountWebhooks = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({ url: Schema.String, events: Schema.Array(Schema.String), agentId: maybe(Schema.String) }),
  ),
  next: maybe(Schema.String),
})

/** What is wrong with the account's webhooks where a call does not name its own. */
const brokenBy = ({ next, results }: typeof AccountWebhooks.Type, agent: string): ReadonlyArray<string> => {
  const toGate = results.filter(({ agentId, url }) => (!agentId || agentId === agent) && goesToGate(url, "ultravox"))
  if (toGate.some(({ events }) => events.includes("call.ended"))) return []
  if (toGate.length > 0) return endsUnreported([], ["call.ended"], "the webhook's events")
  // there are more than one page shows
  return next
    ? []
    : [
        "No webhook of the account for this agent goes to /api/webhook/ultravox of a gate: ends of calls are noticed minutes late. Set " +
          "Ultravox.GateUrl, or add one for call.ended.",
      ]
}

const decodeWebhook = Schema.decodeUnknownOption(Schema.Struct({ event: Schema.String, call: Known }))

export const ultravox = (
  { AgentId, ApiKey, GateUrl, WebhookSecret }: UltravoxSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const secret = Redacted.value(WebhookSecret)
  const agent = encodeURIComponent(AgentId)
  const endpoint = vendorEndpoint({
    vendor: "Ultravox",
    campaign,
    headers: { "x-api-key": Redacted.value(ApiKey) },
    secrets: [ApiKey, WebhookSecret],
    isAtCapacity: saysTooManyCalls,
  })
  const read = <A>(data: Schema.Decoder<A>, call: Omit<Call, "kind">) => send(endpoint, data, { kind: "read", ...call })

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const now = yield* Clock.currentTimeMillis
    const body = {
      templateContext: config.dynamicVariables,
      metadata: metadataOf(config),
      medium: { webRtc: {} },
      joinTimeout: `${lifetimeSeconds}s`,
      maxDuration: `${config.callSeconds ?? longestCallSeconds}s`,
      ...(GateUrl === undefined
        ? {}
        : { callbacks: { ended: { url: `${GateUrl}api/webhook/ultravox`, secrets: [secret] } } }),
    }
    const fromCaller = chosenIn(config)
    const start: Call = { kind: "start", method: "POST", path: `api/agents/${agent}/calls`, body, fromCaller }
    const { callId, joinUrl } = yield* send(endpoint, Started, start, group)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(now + lifetimeSeconds * 1000))
    const session: WebSession = {
      sessionIds: [callId],
      credential: { shape: "url", platform: "ultravox", url: joinUrl, expiresAt },
    }
    return session
  })

  const status = (id: string) =>
    read(Known, { method: "GET", path: `api/calls/${encodeURIComponent(id)}`, shownPath: "api/calls/:id" }).pipe(
      Effect.map(({ ended, joined }) =>
        stateOf(id, typeof ended === "string", joined === undefined ? undefined : joined !== null),
      ),
      orUnknown,
    )

  const recentCalls = makeRecentCalls(
    (correlationId, cursor) => {
      const query = new URLSearchParams({
        pageSize: String(PAGE_LIMIT),
        [`metadata.${CORRELATION}`]: correlationId,
        ...(cursor === undefined ? {} : { cursor }),
      })
      return read(Calls, { method: "GET", path: `api/calls?${query}`, shownPath: "api/calls" }).pipe(
        Effect.flatMap(({ next, results }) => {
          if (!next) return Effect.succeed({ items: results })
          // only its cursor: the key is never sent to an address that an answer names
          const found = URL.parse(next, campaign.BaseUrl)?.searchParams.get("cursor")
          return found
            ? Effect.succeed({ items: results, next: found })
            : malformed("read", "the next page of Ultravox's list has no cursor")
        }),
      )
    },
    ({ created }) => millisOf(created),
  )
  const list = (correlationId: string, since: number) =>
    startedBy(
      recentCalls(correlationId, since - CLOCK_DIFFERENCE_MILLIS),
      correlationId,
      ({ callId: id, metadata }) => ({ id, metadata }),
    )

  const end = Effect.fnUntraced(function* ({ sessionIds: [id = ""] }: WebSession) {
    const path = `api/calls/${encodeURIComponent(id)}/send_data_message`
    const shownPath = "api/calls/:id/send_data_message"
    const body = { type: "hang_up", message: "" }
    yield* read(Schema.Unknown, { method: "POST", path, shownPath, body }).pipe(
      Effect.catchIf(isNotFound, () => Effect.void),
    )
    // the message only asks for the end; the call's state shows whether it has ended
    return (yield* status(id)).status === "over"
  })

  return {
    mint,
    status,
    list,
    limitsCalls: true,
    end,
    capacity: Effect.map(read(Account, { method: "GET", path: "api/accounts/me" }), (account) => ({
      limit: Math.floor(account.allowedConcurrentCalls ?? Number.POSITIVE_INFINITY),
      inUse: Math.ceil(account.activeCalls),
    })),
    webhooks: {
      ...ultravoxAuthentication(secret),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { call, event } = webhook
        if (event !== "call.ended") return { _tag: "ignored", because: "other_event" }
        return correlationIn(call.metadata) === undefined
          ? { _tag: "ignored", because: "other_session" }
          : { _tag: "ended", sessions: [[call.callId]], ...usedOf(secondsBetween(call.joined, call.ended)) }
      },
    },
    check: checkAgent(read(Schema.Unknown, { method: "GET", path: `api/agents/${agent}` }), {
      settings: Schema.Unknown,
      breaks: () =>
        GateUrl === undefined
          ? [
              Effect.map(
                read(AccountWebhooks, {
                  method: "GET",
                  path: `api/webhooks?pageSize=${PAGE_LIMIT}`,
                  shownPath: "api/webhooks",
                }),
                (found) => brokenBy(found, AgentId),
              ),
            ]
          : [],
      group: "Ultravox",
      baseUrl: campaign.BaseUrl,
      agent: "AgentId",
      bounds: `an address is for one call, which must be joined within ${lifetimeSeconds} s`,
    }),
  }
}
