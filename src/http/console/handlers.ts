/** The console's endpoints: who has the token sees and acts, everybody else learns nothing. */
import type { IncomingMessage } from "node:http"
import { Clock, Effect, Option, Redacted, Result, Schema, SchemaTransformation } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CallerNames } from "../../CallerNames.ts"
import { limitKey } from "../../ip-intel/address.ts"
import { trustedProxies } from "../../ip-intel/client-address.ts"
import { Operator } from "../../operator/Operator.ts"
import { Settings } from "../../Settings.ts"
import { type Answer, failed, json, problem, refusals } from "../answer.ts"
import { equal } from "../equal.ts"
import { callerOf, header, isJson, parseJson, readBody } from "../incoming.ts"
import { incoming, respond } from "../router.ts"
import { Api, Command } from "./Api.ts"
import { makeWrongTokens } from "./wrong-tokens.ts"

const whole = Schema.String.check(Schema.isPattern(/^\d{1,15}$/)).pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString),
)
const Query = Schema.Struct({
  campaign: Schema.optionalKey(Schema.String),
  since: Schema.optionalKey(whole),
  firstSlot: Schema.optionalKey(whole),
  slots: Schema.optionalKey(whole),
  firstPlace: Schema.optionalKey(whole),
  places: Schema.optionalKey(whole),
  first: Schema.optionalKey(whole),
  most: Schema.optionalKey(whole),
})
const decodeQuery = Schema.decodeUnknownOption(Query)
const decodeCommand = Schema.decodeUnknownOption(Command)

/** Rows of a page unless the query says otherwise. */
const ROWS = 25

const unauthorized = problem(401, "console_unauthorized", "authorization: Expected the token of the console.", {
  headers: { "www-authenticate": 'Bearer realm="voicegate console"' },
})
const unknownCampaign = problem(404, "unknown_campaign", "campaign: Expected a configured campaign.")
const wrongQuery = problem(400, "invalid_request", "query: Expected whole numbers.")
const wrongAction = problem(400, "invalid_request", "action: Expected an action with what it needs.")

export const handlers = HttpApiBuilder.group(
  Api,
  "Console",
  Effect.fnUntraced(function* (routes) {
    const operator = yield* Operator
    const { Security } = yield* Settings
    const trusted = trustedProxies(Security.TrustedProxies)
    const wrongTokens = makeWrongTokens()
    const names = yield* CallerNames
    const named = Effect.ignore(names.ready ?? Effect.void)

    /** The address of who may, as it is shown; or the answer for who may not. */
    const authorize = Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<string, Answer> {
      const address = callerOf(request, trusted)
      if (address === undefined) return yield* Effect.fail(refusals.noAddress)
      yield* named
      const given = /^Bearer +(\S+)$/i.exec(header(request, "authorization") ?? "")?.[1]
      if (given === undefined || Security.ConsoleToken === undefined) return yield* Effect.fail(unauthorized)
      if (!equal(given, Redacted.value(Security.ConsoleToken))) {
        const line = wrongTokens.note(names.of(limitKey(address)), yield* Clock.currentTimeMillis)
        if (line !== undefined) yield* Effect.logWarning(line)
        return yield* Effect.fail(unauthorized)
      }
      return names.shown(address)
    })

    /** Answers who may. */
    const guarded = (
      then: (
        who: string,
        request: IncomingMessage,
      ) => Effect.Effect<Answer, Answer, HttpServerRequest.ParsedSearchParams>,
    ) =>
      respond(
        Effect.gen(function* () {
          const request = yield* incoming
          return yield* then(yield* authorize(request), request)
        }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
      )

    const query = Effect.flatMap(HttpServerRequest.ParsedSearchParams, (given) =>
      Option.match(decodeQuery(given), {
        onNone: () => Effect.fail(wrongQuery),
        onSome: (asked) => Effect.succeed(asked),
      }),
    )

    return routes
      .handleRaw("view", () =>
        guarded(() =>
          Effect.gen(function* () {
            const { campaign, firstPlace = 0, firstSlot = 0, places = ROWS, since = 0, slots = ROWS } = yield* query
            const view = yield* operator.view(campaign, { firstSlot, slots, firstPlace, places }, since)
            return view === undefined ? unknownCampaign : json(200, view, "console")
          }),
        ),
      )
      .handleRaw("trail", () =>
        guarded(() =>
          Effect.gen(function* () {
            const { campaign, first = 0, most = ROWS } = yield* query
            const trail = yield* Effect.mapError(operator.trail(campaign, first, most), (error) => failed(error, ""))
            return trail === undefined ? unknownCampaign : json(200, trail, "console")
          }),
        ),
      )
      .handleRaw("act", () =>
        guarded((who, request) =>
          Effect.gen(function* () {
            if (!isJson(request)) return refusals.mediaType
            const body = parseJson(yield* readBody(request))
            if (Result.isFailure(body)) return body.failure
            const command = decodeCommand(body.success)
            if (Option.isNone(command)) return wrongAction
            const { action, campaign } = command.value
            const done = yield* Effect.mapError(operator.act(campaign, who, action), (error) => failed(error, ""))
            return done === undefined ? unknownCampaign : json(200, done, `console_${action.type}`)
          }),
        ),
      )
  }),
)
