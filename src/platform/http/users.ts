/**
 * Handlers of the endpoints at and below `/user`: all of them need a key with user management.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../Accounts.ts"
import { WebSessions } from "../WebSessions.ts"
import { Api } from "./Api.ts"
import { Caller } from "./Authorization.ts"
import { wrap } from "./envelope.ts"
import { toFailure } from "./middleware.ts"

export const users = HttpApiBuilder.group(
  Api,
  "users",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const sessions = yield* WebSessions

    const userOf = Effect.fnUntraced(function* (operation: string) {
      const caller = yield* Caller
      yield* Effect.mapError(accounts.userManagement(caller), toFailure(operation))
      return caller.user
    })

    return handlers.handleAll({
      usage: Effect.fnUntraced(function* () {
        const user = yield* userOf("GetBillingUsage")
        return wrap({ currentUsage: { Call_Concurrency: yield* sessions.running(user.id) } })
      }),
      features: Effect.fnUntraced(function* () {
        const user = yield* userOf("GetFeaturesActiveQuantity")
        return wrap({ Call_Concurrency: user.callConcurrency })
      }),
    })
  }),
)
