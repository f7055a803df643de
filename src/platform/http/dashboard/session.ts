/** Sign-in, the session's cookie, and sign-out. */
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { DashboardSessions, SESSION_LIFETIME_MILLIS } from "../../users/DashboardSessions.ts"
import { makeMark } from "../../users/KnownBrowser.ts"
import { PasswordProof } from "../../users/PasswordProof.ts"
import { DashboardApi, Session, SignedIn } from "../DashboardApi.ts"
import { tooMany, unavailable } from "./answers.ts"
import { clearCookie, readCookie, readMark, secureCookie, setCookie, setMark } from "./cookie.ts"
import { SignedOut, SignInFailed } from "./failures.ts"

/** Authenticates every endpoint with the `Session` middleware by its cookie. */
export const session = Layer.effect(
  Session,
  Effect.map(DashboardSessions, (sessions) =>
    Session.of(
      Effect.fnUntraced(function* (handler) {
        const token = yield* readCookie
        if (token === undefined) return yield* new SignedOut()
        const user = yield* Effect.mapError(sessions.find(Redacted.make(token)), unavailable)
        if (user === undefined) return yield* new SignedOut()
        return yield* Effect.provideService(handler, SignedIn, user)
      }),
    ),
  ),
)

/** @param secureOrigin whether browsers always reach this platform over TLS, for instance through a proxy */
export const sessionHandlers = (secureOrigin: boolean) =>
  HttpApiBuilder.group(
    DashboardApi,
    "session",
    Effect.fnUntraced(function* (handlers) {
      const proof = yield* PasswordProof
      const sessions = yield* DashboardSessions
      const secure = secureCookie(secureOrigin)
      return handlers.handleAll({
        signIn: Effect.fnUntraced(function* ({ payload }) {
          const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
          const address = Option.getOrElse(remoteAddress, () => "")
          const { epoch, passwordHash, user } = yield* proof
            .signIn(payload.email, Redacted.make(payload.password), { address, mark: yield* readMark })
            .pipe(
              Effect.catchTags({
                Busy: ({ retryAfterSeconds }) => tooMany(retryAfterSeconds),
                Refused: ({ code, message }) => Effect.fail(new SignInFailed({ code, message })),
                DatabaseUnavailable: (error) => Effect.fail(unavailable(error)),
              }),
            )
          const userAgent = headers["user-agent"] ?? ""
          const begun = sessions.begin({ userId: user.id, epoch, address, userAgent })
          const token = yield* Effect.mapError(begun, unavailable)
          yield* setCookie(Redacted.value(token), yield* secure, SESSION_LIFETIME_MILLIS)
          yield* setMark(makeMark({ userId: user.id, passwordHash }), yield* secure)
          return { id: user.id, name: user.name, email: user.email ?? "" }
        }),

        whoAmI: () => Effect.map(SignedIn, ({ email, id, name }) => ({ id, name, email })),

        signOut: Effect.fnUntraced(function* () {
          const token = yield* readCookie
          if (token !== undefined) yield* Effect.mapError(sessions.end(Redacted.make(token)), unavailable)
          yield* clearCookie(yield* secure)
        }),
      })
    }),
  )
