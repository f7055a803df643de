/**
 * Signing in, staying so, signing out. Tries are counted by address and by account before a password is looked at, and few
 * are looked at together, since each costs as much as a password's digest must.
 */
import { Clock, Effect, Layer, Option, Redacted, Semaphore } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { networkOf } from "../../Access.ts"
import { type Left, makeBudget } from "../../Budgets.ts"
import { DashboardSessions, SESSION_LIFETIME_MILLIS } from "../../DashboardSessions.ts"
import { Users } from "../../Users.ts"
import { DashboardApi, Session, SignedIn } from "../DashboardApi.ts"
import { unavailable } from "./answers.ts"
import { clearCookie, readCookie, setCookie } from "./cookie.ts"
import { SignedOut, SignInFailed, TooManyAttempts } from "./failures.ts"

/** Tries of one address, or for one account, in a minute. */
export const ATTEMPTS_PER_MINUTE = 10
/** Passwords that are looked at together: each takes 32 MiB and a third of a second of one core. */
const AT_ONCE = 2

/** Proves the cookie of every endpoint that is behind `Session`. */
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

const tooMany = Effect.fnUntraced(function* ({ resetSeconds }: Left) {
  yield* HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(resetSeconds))),
  )
  return yield* new TooManyAttempts({
    code: "TOO_MANY_ATTEMPTS",
    message: "too many tries to sign in",
    retryAfterSeconds: resetSeconds,
  })
})

/** @param secureOrigin whether browsers reach this platform over TLS, whatever its own connections say */
export const sessionHandlers = (secureOrigin: boolean) =>
  HttpApiBuilder.group(
    DashboardApi,
    "session",
    Effect.fnUntraced(function* (handlers) {
      const users = yield* Users
      const sessions = yield* DashboardSessions
      const attempts = { address: makeBudget(ATTEMPTS_PER_MINUTE), account: makeBudget(ATTEMPTS_PER_MINUTE) }
      const looking = yield* Semaphore.make(AT_ONCE)
      const secure = Effect.map(
        HttpServerRequest.HttpServerRequest,
        ({ protocol }) => secureOrigin || protocol === "https",
      )
      return handlers.handleAll({
        signIn: Effect.fnUntraced(function* ({ payload }) {
          const now = yield* Clock.currentTimeMillis
          const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
          const address = networkOf(Option.getOrElse(remoteAddress, () => ""))
          const uses = [
            attempts.address.use(address, now),
            attempts.account.use(payload.email.trim().toLowerCase(), now),
          ]
          const refused = uses.find(({ allowed }) => !allowed)
          if (refused !== undefined) return yield* tooMany(refused)
          const user = yield* looking
            .withPermit(users.signIn(payload.email, Redacted.make(payload.password)))
            .pipe(
              Effect.mapError((error) =>
                error._tag === "Refused"
                  ? new SignInFailed({ code: error.code, message: error.message })
                  : unavailable(error),
              ),
            )
          const token = yield* Effect.mapError(sessions.begin(user.id), unavailable)
          yield* setCookie(Redacted.value(token), yield* secure, SESSION_LIFETIME_MILLIS)
          return { id: user.id, name: user.name, email: user.email ?? "" }
        }),

        whoAmI: () => Effect.map(SignedIn, (user) => user),

        signOut: Effect.fnUntraced(function* () {
          const token = yield* readCookie
          if (token !== undefined) yield* Effect.mapError(sessions.end(Redacted.make(token)), unavailable)
          yield* clearCookie(yield* secure)
        }),
      })
    }),
  )
