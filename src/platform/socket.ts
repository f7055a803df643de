/**
 * The WebSocket of a session: greets with one text frame, then sends the caller's binary frames back one second later, the
 * same bytes in the same order. However it closes, the session ends. What is held back is bounded: a caller who sends
 * more than `HELD_FRAMES` within the second is read no faster.
 */
import { Clock, Effect, Option, Queue, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Socket } from "effect/socket"
import { WebSessions } from "./WebSessions.ts"

/** How much later than it was said the caller's audio comes back, in milliseconds. */
export const ECHO_DELAY_MILLIS = 1_000
/** Frames held at once: twenty seconds of audio in frames of 20 ms. */
export const HELD_FRAMES = 1_000

/** The path of a session's WebSocket; the token follows as a query parameter. */
export const socketPath = (webSessionId: string): string => `/session/${webSessionId}`

const Query = Schema.Struct({ token: Schema.String.check(Schema.isMaxLength(128)) })
const Params = Schema.Struct({ webSessionId: Schema.String })

/** `GET /session/{webSessionId}?token=`: 101, or 401 for a token that opens nothing, or 426 without an upgrade. */
export const route = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const sessions = yield* WebSessions
    const handle = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (request.headers.upgrade?.toLowerCase() !== "websocket") {
        return HttpServerResponse.empty({ status: 426, headers: { upgrade: "websocket" } })
      }
      const params = yield* Effect.option(HttpRouter.schemaPathParams(Params))
      const query = yield* Effect.option(HttpServerRequest.schemaSearchParams(Query))
      if (Option.isNone(params) || Option.isNone(query)) return HttpServerResponse.empty({ status: 401 })
      // Joined and ended together: whatever interrupts in between, a joined session ends.
      return yield* Effect.acquireUseRelease(
        sessions.join(params.value.webSessionId, query.value.token),
        (session) =>
          request.upgrade.pipe(
            Effect.flatMap((socket) => talk(socket, session.conversationSessionId)),
            Effect.scoped,
            // A close, clean or not, arrives as an error of the socket.
            Effect.catch(() => Effect.void),
            Effect.as(HttpServerResponse.empty()),
          ),
        (session) => sessions.end(session.webSessionId),
      ).pipe(Effect.catchTag("TokenRefused", () => Effect.succeed(HttpServerResponse.empty({ status: 401 }))))
    })
    yield* router.add("GET", "/session/:webSessionId", handle)
  }),
)

/** Runs until the socket closes, which fails. */
const talk = Effect.fnUntraced(function* (socket: Socket.Socket, conversationSessionId: string) {
  const reader = yield* socket.reader
  const writer = yield* socket.writer
  const held = yield* Queue.bounded<{ readonly frame: Uint8Array; readonly due: number }>(HELD_FRAMES)
  const listen = Effect.gen(function* () {
    const frames = yield* reader.pull
    const due = (yield* Clock.currentTimeMillis) + ECHO_DELAY_MILLIS
    for (const frame of frames) {
      if (typeof frame !== "string") yield* Queue.offer(held, { frame, due })
    }
  })
  const echo = Effect.gen(function* () {
    const { frame, due } = yield* Queue.take(held)
    const wait = due - (yield* Clock.currentTimeMillis)
    if (wait > 0) yield* Effect.sleep(wait)
    yield* writer.write(frame)
  })
  yield* writer.write(
    JSON.stringify({ type: "greeting", conversationSessionId, text: "Hello. I repeat what you say." }),
  )
  return yield* Effect.raceFirst(Effect.forever(listen), Effect.forever(echo))
})
