/** The WebSocket of a session: opened once, with the session's token. The session ends when it closes for any reason. */
import { Clock, Effect, type Layer, Option, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Socket } from "effect/socket"
import { Text } from "../text.ts"
import { talk } from "./agent.ts"
import type { Conversations } from "./Conversations.ts"
import { LiveSessions } from "./LiveSessions.ts"
import { WebSessions } from "./WebSessions.ts"

/** The path of a session's WebSocket; the token follows as a query parameter. */
export const socketPath = (webSessionId: string): string => `/session/${webSessionId}`

const Query = Schema.Struct({ token: Text.check(Schema.isMaxLength(128)) })
const Params = Schema.Struct({ webSessionId: Text.check(Schema.isMaxLength(128)) })

/** Waits until the maximum length of a call is reached, then closes the socket. */
const longestCall = Effect.fnUntraced(function* (socket: Socket.Socket, endsBy: number) {
  yield* Effect.sleep(Math.max(0, endsBy - (yield* Clock.currentTimeMillis)))
  const writer = yield* socket.writer
  yield* writer.write(new Socket.CloseEvent(1000, "the call has reached the longest duration of its campaign"))
})

const refusal = (status: number) => HttpServerResponse.empty({ status })

/** @param idleMillis how long a caller may be silent, in milliseconds; 0 is no limit */
export const route = (
  idleMillis: number,
): Layer.Layer<never, never, HttpRouter.HttpRouter | WebSessions | LiveSessions | Conversations> =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const sessions = yield* WebSessions
      const live = yield* LiveSessions
      const context = yield* Effect.context<Conversations>()

      const handle = Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (request.headers.upgrade?.toLowerCase() !== "websocket") {
          return HttpServerResponse.empty({ status: 426, headers: { upgrade: "websocket" } })
        }
        const params = yield* Effect.option(HttpRouter.schemaPathParams(Params))
        const query = yield* Effect.option(HttpServerRequest.schemaSearchParams(Query))
        if (Option.isNone(params) || Option.isNone(query)) return refusal(401)
        // A bracket, so that a joined session ends even when it is interrupted.
        return yield* Effect.acquireUseRelease(
          sessions.join(params.value.webSessionId, query.value.token),
          ({ conversationSessionId, endsBy, webSessionId }) =>
            Effect.gen(function* () {
              const over = yield* live.hold(webSessionId)
              const socket = yield* request.upgrade
              yield* Effect.raceAllFirst([
                talk(socket, conversationSessionId, idleMillis),
                over,
                longestCall(socket, endsBy),
              ])
            }).pipe(
              Effect.scoped,
              Effect.provideContext(context),
              // A close, clean or not, arrives as an error of the socket.
              Effect.catch(() => Effect.void),
              Effect.as(HttpServerResponse.empty()),
            ),
          // When the database is unavailable now, the session ends because it is not renewed.
          ({ webSessionId }) => Effect.ignore(sessions.end(webSessionId)),
        ).pipe(
          Effect.catchTag("Refused", () => Effect.succeed(refusal(401))),
          Effect.catchTag("DatabaseUnavailable", () => Effect.succeed(refusal(503))),
        )
      })
      yield* router.add("GET", "/session/:webSessionId", handle)
    }),
  )
