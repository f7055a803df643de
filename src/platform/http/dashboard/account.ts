/** Handlers of the account page: password and sign-ins. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DashboardSessions } from "../../users/DashboardSessions.ts"
import { makeMark } from "../../users/KnownBrowser.ts"
import { PasswordProof } from "../../users/PasswordProof.ts"
import { Users } from "../../users/Users.ts"
import { DashboardApi, SignedIn } from "../DashboardApi.ts"
import { orFail, tooMany, unavailable } from "./answers.ts"
import { secureCookie, setMark } from "./cookie.ts"
import { Invalid } from "./failures.ts"

/** @param secureOrigin whether browsers always reach this platform over TLS, for instance through a proxy */
export const account = (secureOrigin: boolean) =>
  HttpApiBuilder.group(
    DashboardApi,
    "account",
    Effect.fnUntraced(function* (handlers) {
      const users = yield* Users
      const sessions = yield* DashboardSessions
      const proof = yield* PasswordProof
      return handlers.handleAll({
        changePassword: Effect.fnUntraced(function* ({ payload }) {
          const { email, signInId } = yield* SignedIn
          const proved = yield* proof.confirm(email, Redacted.make(payload.current)).pipe(
            Effect.catchTags({
              Busy: ({ retryAfterSeconds }) => tooMany(retryAfterSeconds),
              Refused: ({ code, message }) => Effect.fail(new Invalid({ code, message })),
              DatabaseUnavailable: (error) => Effect.fail(unavailable(error)),
            }),
          )
          const changed = yield* orFail("invalid")(users.changePassword(proved, Redacted.make(payload.next), signInId))
          // The old mark became invalid with the old password.
          if (changed.passwordHash !== null) {
            const mark = makeMark({ userId: changed.user.id, passwordHash: changed.passwordHash })
            yield* setMark(mark, yield* secureCookie(secureOrigin))
          }
        }),

        signIns: () =>
          Effect.gen(function* () {
            const { id, signInId } = yield* SignedIn
            const all = yield* sessions.list(id)
            return all.map((each) => ({ ...each, current: each.id === signInId }))
          }).pipe(orFail()),

        endSignIn: ({ params }) =>
          Effect.flatMap(SignedIn, ({ id }) => sessions.endOne(id, params.id)).pipe(orFail("not_found")),

        endOtherSignIns: () =>
          Effect.flatMap(SignedIn, ({ id, signInId }) => sessions.endOthers(id, signInId)).pipe(
            Effect.map((ended) => ({ ended })),
            orFail(),
          ),
      })
    }),
  )
