/**
 * LiveKit, in its cloud or self-hosted. A start is a token that the gate signs itself: it opens one room of its own, and LiveKit
 * dispatches the agent when the caller joins. The page gives address and token to `livekit-client`.
 *
 * The room's name has an unguessable part and the time at which its token expires, because a token may be used again until then: only
 * afterwards does a room that is not open prove that the call is over.
 */

import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import { PlatformError, RequestRefused } from "../errors.ts"
import { faultAt } from "../faults.ts"
import type { Finding, SessionState, WebSession } from "../model.ts"
import type { Call, Endpoint } from "../requests/transport.ts"
import { expiryOf, newSessionId } from "../shared/own-session.ts"
import { readVendorAnswer } from "../shared/vendor-answer.ts"
import { signJwt } from "./jwt.ts"
import type { LiveKitSettings } from "./settings.ts"
import { liveKitAuthentication } from "./webhooks.ts"

/** How long a room stays open after its caller has left, in which a page may come back (s). */
const DEPARTURE_SECONDS = 10
/** The lifetime of the gate's own tokens for LiveKit's API (s). */
const API_TOKEN_SECONDS = 60

/** The most metadata of a room or a dispatch with which LiveKit lets a caller join. */
const MAX_METADATA_BYTES = 512 * 1024

/** LiveKit accepts a token for this long after it has expired, because clocks differ (s). */
const SERVER_LEEWAY_SECONDS = 60

/** Until when the token of a room may open it (ms since 1970); undefined if the gate did not name the room. */
const opensUntil = (room: string): number | undefined => {
  const expiry = expiryOf(room)
  return expiry === undefined ? undefined : expiry + SERVER_LEEWAY_SECONDS * 1000
}

const Rooms = Schema.Struct({ rooms: Schema.optionalKey(Schema.Array(Schema.Struct({ name: Schema.String }))) })

const WebhookBody = Schema.Struct({
  event: Schema.String,
  room: Schema.optionalKey(Schema.Struct({ name: Schema.optionalKey(Schema.String) })),
})
const decodeWebhook = Schema.decodeUnknownOption(WebhookBody)

const isNotFound = ({ reason }: PlatformError): boolean => reason._tag === "Refused" && reason.code === "not_found"

export const livekit = (settings: LiveKitSettings, { campaign, lifetimeSeconds, send }: AdapterContext): Adapter => {
  const key = Redacted.value(settings.ApiKey)
  const secret = Redacted.value(settings.ApiSecret)

  const sign = (from: number, seconds: number, claims: Readonly<Record<string, unknown>>): string =>
    signJwt({ iss: key, nbf: from, exp: from + seconds, ...claims }, secret)

  const endpoint: Endpoint = {
    campaign: campaign.name,
    baseUrl: campaign.BaseUrl,
    authorise: () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const token = sign(Math.floor(now / 1000), API_TOKEN_SECONDS, { video: { roomList: true, roomCreate: true } })
        return { authorization: `Bearer ${token}` }
      }),
    read: readVendorAnswer({
      vendor: "LiveKit",
      secrets: [settings.ApiKey, settings.ApiSecret],
      // a start asks nothing of LiveKit, so none is refused
      isAtCapacity: () => false,
    }),
  }
  const ask = <A>(data: Schema.Decoder<A>, method: string, body: unknown) => {
    const call: Call = { kind: "read", method: "POST", path: `twirp/livekit.RoomService/${method}`, body }
    return send(endpoint, data, call)
  }

  /**
   * The configuration of a room, which tells the agent about the call: in its dispatch if an agent is named, otherwise in the room's
   * metadata.
   */
  const roomConfigOf = (room: string, told: string) => {
    return {
      name: room,
      emptyTimeout: lifetimeSeconds,
      departureTimeout: DEPARTURE_SECONDS,
      ...(settings.AgentName === undefined
        ? { metadata: told }
        : {
            agents: [
              {
                agentName: settings.AgentName,
                metadata: told,
                ...(settings.AgentDeployment === undefined ? {} : { deployment: settings.AgentDeployment }),
              },
            ],
          }),
    }
  }

  const mint = (config: StartConfig): Effect.Effect<WebSession, PlatformError> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const { clientIdentifier, dynamicVariables, metadata } = config
      const told = JSON.stringify({ clientIdentifier, dynamicVariables, metadata })
      if (Buffer.byteLength(told) > MAX_METADATA_BYTES) {
        const message = `the variables and metadata are more than LiveKit takes (${MAX_METADATA_BYTES / 1024} KiB)`
        return Effect.fail(new PlatformError({ reason: new RequestRefused({ status: 400, code: "", message }) }))
      }
      const from = Math.floor(now / 1000)
      const room = newSessionId(from + lifetimeSeconds)
      const token = sign(from, lifetimeSeconds, {
        sub: config.clientIdentifier,
        video: { roomJoin: true, room, canPublish: true, canSubscribe: true, canPublishData: true },
        roomConfig: roomConfigOf(room, told),
      })
      const expiresAt = DateTime.formatIso(DateTime.makeUnsafe((from + lifetimeSeconds) * 1000))
      const credential = { shape: "url+token", platform: "livekit", url: settings.Url, token, expiresAt } as const
      return Effect.succeed({ sessionIds: [room], credential })
    })

  const isExpired = (room: string): Effect.Effect<boolean> =>
    Effect.map(Clock.currentTimeMillis, (now) => (opensUntil(room) ?? Number.POSITIVE_INFINITY) <= now)

  const status = Effect.fnUntraced(function* (room: string): Effect.fn.Return<SessionState, PlatformError> {
    const { rooms = [] } = yield* ask(Rooms, "ListRooms", { names: [room] })
    if (rooms.some(({ name }) => name === room)) return { status: "running", sessionIds: [room] }
    // a room that is closed looks like one that nobody has entered
    return (yield* isExpired(room))
      ? { status: "over", sessionIds: [], opened: false }
      : { status: "unknown", sessionIds: [] }
  })

  const end = Effect.fnUntraced(function* ({ sessionIds: [room = ""] }: WebSession) {
    yield* ask(Schema.Unknown, "DeleteRoom", { room }).pipe(Effect.catchIf(isNotFound, () => Effect.void))
    // until its token expires, the caller could open the room again
    return yield* isExpired(room)
  })

  const bounds: Finding = {
    subject: "credential",
    state: "ok",
    detail: `a token opens its own room again until it expires, ${lifetimeSeconds} s after it was made`,
  }
  const check = ask(Rooms, "ListRooms", {}).pipe(
    Effect.map(
      ({ rooms = [] }): ReadonlyArray<Finding> => [
        {
          subject: "platform",
          state: "ok",
          detail: `reachable; the key may list rooms, of which ${rooms.length} are open`,
        },
        bounds,
      ],
    ),
    Effect.catch((error) => {
      // a 404 is the answer of another server
      const isRefusal = error.reason._tag === "Refused" && error.reason.status !== 404
      const setting = isRefusal ? "LiveKit.ApiKey or LiveKit.ApiSecret" : "LiveKit.Url"
      return Effect.succeed<ReadonlyArray<Finding>>([
        {
          subject: "platform",
          state: "failed",
          detail: `${setting}: ${error.message}`,
          ...faultAt(isRefusal ? "LiveKit.ApiKey" : "LiveKit.Url", error),
        },
        bounds,
      ])
    }),
  )

  return {
    mint,
    status,
    end,
    webhooks: {
      ...liveKitAuthentication(key, secret),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const room = webhook.room?.name ?? ""
        const notBefore = opensUntil(room)
        if (notBefore === undefined) return { _tag: "ignored", because: room === "" ? "other_event" : "other_session" }
        // the server gives a page that has joined further tokens, so it could open the room again after its end
        if (webhook.event === "room_started") return { _tag: "began", session: [room] }
        return webhook.event === "room_finished"
          ? { _tag: "ended", sessions: [[room]], notBefore }
          : { _tag: "ignored", because: "other_event" }
      },
    },
    check,
  }
}
