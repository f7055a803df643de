/** The layer of the console's authorization: one check for all endpoints. */
import { Clock, Effect, Layer, Redacted } from "effect"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { equalsAny } from "../../lib/equal.ts"
import { limitKey } from "../../lib/ip/address.ts"
import { ConsoleToken, consoleProblems, OperatorName } from "../../operator/Api.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { refusals, refused } from "../answers/answer.ts"
import { respond } from "../answers/respond.ts"
import { incoming } from "../incoming/body.ts"
import { currentAddressOf } from "../incoming/client-address.ts"
import { makeWrongTokens } from "./wrong-tokens.ts"

const unauthorized = refused(consoleProblems.unauthorized.make("authorization: Expected the token of the console."))

export const layer: Layer.Layer<ConsoleToken, never, CallerNames | Settings> = Layer.effect(
  ConsoleToken,
  Effect.gen(function* () {
    const settings = yield* currentSettings
    const addressOf = yield* currentAddressOf
    const wrongTokens = makeWrongTokens()
    const names = yield* CallerNames
    const namesReady = Effect.ignore(names.ready ?? Effect.void)

    return ConsoleToken.of({
      token: Effect.fnUntraced(function* (handler, { credential }) {
        const address = addressOf(yield* incoming)
        if (address === undefined) return yield* respond(refusals.noAddress)
        yield* namesReady
        const token = Redacted.value(credential)
        if (!/^\S+$/.test(token)) return yield* respond(unauthorized)
        if (!equalsAny(token, settings().Security.ConsoleToken.map(Redacted.value))) {
          const line = wrongTokens.note(names.of(limitKey(address)), yield* Clock.currentTimeMillis)
          if (line !== undefined) yield* Effect.logWarning(line)
          return yield* respond(unauthorized)
        }
        return yield* Effect.provideService(handler, OperatorName, names.shown(address))
      }),
    })
  }),
)
