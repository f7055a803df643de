/**
 * Daily, for an agent of your own that joins rooms. A start makes a private room with an unguessable name and a token for it, which the
 * page gives to `@daily-co/daily-js`. The agent's program learns of the room by Daily's own webhook `meeting.started`.
 *
 * The room's name says which agent is wanted and when the token expires, because a token may be used again until then.
 */
import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import { type PlatformError, unavailable } from "../errors.ts"
import type { SessionState, WebSession } from "../model.ts"
import { type Call, START_TIMEOUT_MILLIS } from "../requests/transport.ts"
import { addressOf, goesToGate } from "../shared/broken-settings.ts"
import { usedOf } from "../shared/call-use.ts"
import { expiryOf, newSessionId } from "../shared/own-session.ts"
import {
  checkAgent,
  hint,
  isNotFound,
  roomExpiry,
  saysConcurrency,
  startsNothing,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { DailySettings } from "./settings.ts"
import { dailyAuthentication, TEST } from "./webhooks.ts"

const Room = Schema.Struct({ url: Schema.NonEmptyString })
const Token = Schema.Struct({ token: Schema.NonEmptyString })
const Presence = Schema.Struct({ total_count: Schema.Finite })
const WebhooksOfDomain = Schema.Array(
  Schema.Struct({
    url: Schema.optionalKey(Schema.NullOr(Schema.String)),
    state: Schema.optionalKey(Schema.NullOr(Schema.String)),
    eventTypes: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  }),
)

/** Daily switches a webhook off after failures, and sends nothing any more: its state is FAILED then. */
const brokenBy = (webhooks: typeof WebhooksOfDomain.Type): ReadonlyArray<string> => {
  const ours = webhooks.filter(({ url }) => goesToGate(url ?? "", "daily"))
  if (ours.length === 0) {
    return [
      "Daily has no webhook that goes to /api/webhook/daily, so ends of calls are noticed by the audit alone, minutes later.",
    ]
  }
  return ours.flatMap(({ eventTypes, state, url }) => {
    const address = addressOf(url ?? "")
    return [
      ...(state === "FAILED"
        ? [
            `Daily has switched the webhook to ${address} off, because deliveries failed. Update it at Daily, which switches it on again.`,
          ]
        : []),
      ...(eventTypes && !eventTypes.includes("meeting.ended")
        ? [`The webhook to ${address} does not report meeting.ended.`]
        : []),
    ]
  })
}

const decodeWebhook = Schema.decodeUnknownOption(
  Schema.Struct({
    type: Schema.String,
    payload: Schema.optionalKey(
      Schema.Struct({
        room: Schema.optionalKey(Schema.String),
        meeting_id: hint(Schema.String),
        /** when the meeting began and ended (s since 1970) */
        start_ts: hint(Schema.Finite),
        end_ts: hint(Schema.Finite),
      }),
    ),
  }),
)

export const daily = (
  { AgentId, ApiKey, WebhookSecret }: DailySettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "Daily",
    campaign,
    headers: { authorization: `Bearer ${Redacted.value(ApiKey)}` },
    secrets: [ApiKey, WebhookSecret],
    isAtCapacity: saysConcurrency,
  })
  const suffix = `-${AgentId}`
  /** Until when the token of a room opens it (ms since 1970); undefined if the room is not of this campaign. */
  const opensUntil = (room: string): number | undefined =>
    room.endsWith(suffix) ? expiryOf(room.slice(0, -suffix.length)) : undefined
  /** Daily's id of the caller, by which to eject: the unguessable part of the room's name. */
  const userOf = (room: string): string => room.split("-").slice(2).join("-").slice(0, 22)

  const ask = <A>(data: Schema.Decoder<A>, method: Call["method"], room: string, action = "", body?: unknown) =>
    send(endpoint, data, {
      kind: "read",
      method,
      path: `v1/rooms/${encodeURIComponent(room)}${action}`,
      shownPath: `v1/rooms/:name${action}`,
      ...(body === undefined ? {} : { body }),
    })

  const mint = Effect.fnUntraced(function* ({ callSeconds }: StartConfig, group: string) {
    const expiry = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const name = newSessionId(expiry) + suffix
    const post = { kind: "start", method: "POST" } as const
    const exp = roomExpiry(expiry, { lifetimeSeconds, longestCallSeconds }, callSeconds)
    const properties = { exp, eject_at_room_exp: true }
    const roomBody = { name, privacy: "private", properties }
    const { url } = yield* send(endpoint, Room, { ...post, path: "v1/rooms", body: roomBody }, group)
    const tokenBody = { properties: { room_name: name, exp: expiry, user_id: userOf(name) } }
    const { token } = yield* send(endpoint, Token, { ...post, path: "v1/meeting-tokens", body: tokenBody }, group)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000))
    const session: WebSession = {
      sessionIds: [name],
      credential: { shape: "url+token", platform: "daily", url, token, expiresAt },
    }
    return session
  })

  const isExpired = (room: string): Effect.Effect<boolean> =>
    Effect.map(Clock.currentTimeMillis, (now) => (opensUntil(room) ?? Number.POSITIVE_INFINITY) <= now)

  const status = Effect.fnUntraced(function* (room: string): Effect.fn.Return<SessionState, PlatformError> {
    const presence = ask(Presence, "GET", room, "/presence")
    const { total_count } = yield* Effect.catchIf(presence, isNotFound, () => Effect.succeed({ total_count: 0 }))
    if (total_count > 0) return stateOf(room, false)
    // an empty room looks like one that nobody has entered
    return (yield* isExpired(room)) ? stateOf(room, true, false) : unknownState
  })

  /** Ejects the caller and deletes the room, so that no token opens it any more. */
  const end = Effect.fnUntraced(function* ({ sessionIds: [room = ""] }: WebSession) {
    yield* Effect.ignore(ask(Schema.Unknown, "POST", room, "/eject", { user_ids: [userOf(room)], ban: true }))
    yield* ask(Schema.Unknown, "DELETE", room).pipe(Effect.catchIf(isNotFound, () => Effect.void))
    return true
  })

  return {
    // two requests within the time limit of one; a start that takes longer has started nothing, because nobody has its token
    mint: (config, group) =>
      mint(config, group).pipe(
        Effect.timeoutOrElse({
          duration: START_TIMEOUT_MILLIS,
          orElse: () => Effect.fail(unavailable("timeout", false, "Daily did not answer in time")),
        }),
        startsNothing,
      ),
    status,
    limitsCalls: true,
    end,
    webhooks: {
      ...dailyAuthentication(Redacted.value(WebhookSecret)),
      ended: (body) => {
        if (JSON.stringify(body) === TEST) return { _tag: "ignored", because: "other_event" }
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const room = webhook.payload?.room ?? ""
        const notBefore = opensUntil(room)
        if (notBefore === undefined) return { _tag: "ignored", because: room === "" ? "other_event" : "other_session" }
        const { end_ts, meeting_id, start_ts } = webhook.payload ?? {}
        // whoever comes back while the token is valid has another meeting in the same room
        const meeting = { meeting: meeting_id ?? String(start_ts ?? "") }
        if (webhook.type === "meeting.started") return { _tag: "began", session: [room], ...meeting }
        if (webhook.type !== "meeting.ended") return { _tag: "ignored", because: "other_event" }
        const used = usedOf(typeof start_ts === "number" && typeof end_ts === "number" ? end_ts - start_ts : undefined)
        return { _tag: "ended", sessions: [[room]], notBefore, ...used, ...meeting }
      },
    },
    check: checkAgent(send(endpoint, Schema.Unknown, { kind: "read", method: "GET", path: "v1/" }), {
      group: "Daily",
      baseUrl: campaign.BaseUrl,
      agent: "BaseUrl",
      settings: Schema.Unknown,
      breaks: () => [
        Effect.map(send(endpoint, WebhooksOfDomain, { kind: "read", method: "GET", path: "v1/webhooks" }), brokenBy),
      ],
      bounds: `a token joins its own room, again until it expires, ${lifetimeSeconds} s after it was made`,
    }),
  }
}
