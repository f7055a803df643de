/** The endpoints of the console. Without the token they reveal nothing but that it is missing. */
import type { IncomingMessage } from "node:http"
import { Clock, Effect, Option, Redacted, Result, Schema, SchemaTransformation } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { limitKey } from "../../ip-intel/address.ts"
import { equalsAny } from "../../lib/equal.ts"
import { HASH, positionOf } from "../../operator/find.ts"
import { Operator } from "../../operator/Operator.ts"
import { AuditFilter } from "../../operator/shapes.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { Reload } from "../../reload/Reload.ts"
import { header } from "../../serving/repeated-headers.ts"
import { currentSettings } from "../../settings/current.ts"
import { type Answer, failed, json, refusals, refused } from "../answers/answer.ts"
import { isJson, parseJson, readBody } from "../incoming/body.ts"
import { currentAddressOf } from "../incoming/client-address.ts"
import { incoming, respond } from "../server/router.ts"
import { Api, Command } from "./Api.ts"
import { consoleProblems } from "./problems.ts"
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
  count: Schema.optionalKey(whole),
  hash: Schema.optionalKey(Schema.String),
  only: Schema.optionalKey(AuditFilter),
  from: Schema.optionalKey(Schema.String),
})
const decodeQuery = Schema.decodeUnknownOption(Query)
const decodeCommand = Schema.decodeUnknownOption(Command)

/** Rows of a page, unless the query contains another number. */
const ROWS = 25

const toAnswer = (error: StoreUnavailable): Answer => failed(error, "")

const unauthorized = refused(consoleProblems.unauthorized.make("authorization: Expected the token of the console."))
const unknownCampaign = refused(consoleProblems.unknownCampaign.make("campaign: Expected a configured campaign."))
const wrongQuery = refused(consoleProblems.invalid.make("query: Expected whole numbers, and settings or actions."))
const wrongHash = refused(consoleProblems.invalid.make("hash: Expected 4 to 10 hexadecimal digits."))
const wrongPosition = refused(consoleProblems.invalid.make("from: Expected the `next` of the answer before."))
const wrongAction = refused(consoleProblems.invalid.make("action: Expected an action with its fields."))
const notReloadable = refused(
  consoleProblems.notReloadable.make("The host application of this gate determines its settings."),
)
const settingsRefused = (problems: ReadonlyArray<string>): Answer =>
  refused(consoleProblems.settingsRefused.make(`The settings were not changed. ${problems.join("\n")}`))

export const handlers = HttpApiBuilder.group(
  Api,
  "Console",
  Effect.fnUntraced(function* (routes) {
    const operator = yield* Operator
    const settings = yield* currentSettings
    const addressOf = yield* currentAddressOf
    const wrongTokens = makeWrongTokens()
    const names = yield* CallerNames
    const namesReady = Effect.ignore(names.ready ?? Effect.void)

    const reloader = yield* Effect.serviceOption(Reload)

    /** Succeeds with the caller's address, as logs show it, if the token is right; fails with the answer otherwise. */
    const authorize = Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<string, Answer> {
      const address = addressOf(request)
      if (address === undefined) return yield* Effect.fail(refusals.noAddress)
      yield* namesReady
      const token = /^Bearer +(\S+)$/i.exec(header(request, "authorization") ?? "")?.[1]
      const { Security } = settings()
      if (token === undefined) return yield* Effect.fail(unauthorized)
      if (!equalsAny(token, Security.ConsoleToken.map(Redacted.value))) {
        const line = wrongTokens.note(names.of(limitKey(address)), yield* Clock.currentTimeMillis)
        if (line !== undefined) yield* Effect.logWarning(line)
        return yield* Effect.fail(unauthorized)
      }
      return names.shown(address)
    })

    /** Runs a handler if the token is right. */
    const authorized = (
      handle: (
        who: string,
        request: IncomingMessage,
      ) => Effect.Effect<Answer, Answer, HttpServerRequest.ParsedSearchParams>,
    ) =>
      respond(
        Effect.gen(function* () {
          const request = yield* incoming
          return yield* handle(yield* authorize(request), request)
        }).pipe(Effect.catch((answer) => Effect.succeed(answer))),
      )

    const query = Effect.flatMap(HttpServerRequest.ParsedSearchParams, (given) =>
      Option.match(decodeQuery(given), {
        onNone: () => Effect.fail(wrongQuery),
        onSome: Effect.succeed,
      }),
    )

    return routes
      .handleRaw("view", () =>
        authorized(() =>
          Effect.gen(function* () {
            const { campaign, firstPlace = 0, firstSlot = 0, places = ROWS, since = 0, slots = ROWS } = yield* query
            const view = yield* operator.view(campaign, { firstSlot, slots, firstPlace, places }, since)
            return view === undefined ? unknownCampaign : json(200, view, "console")
          }),
        ),
      )
      .handleRaw("auditLog", () =>
        authorized(() =>
          Effect.gen(function* () {
            const { campaign, count = ROWS, first = 0, only } = yield* query
            const auditLog = yield* Effect.mapError(operator.auditLog(campaign, first, count, only), toAnswer)
            return auditLog === undefined ? unknownCampaign : json(200, auditLog, "console")
          }),
        ),
      )
      .handleRaw("campaigns", () =>
        authorized(() => Effect.map(operator.campaigns, (campaigns) => json(200, campaigns, "console"))),
      )
      .handleRaw("find", () =>
        authorized(() =>
          Effect.gen(function* () {
            const { from, hash: given = "" } = yield* query
            const hash = given.toLowerCase()
            if (!HASH.test(hash)) return wrongHash
            const position = from === undefined ? undefined : positionOf(from)
            if (from !== undefined && position === undefined) return wrongPosition
            return json(200, yield* Effect.mapError(operator.find(hash, position), toAnswer), "console")
          }),
        ),
      )
      .handleRaw("act", () =>
        authorized((who, request) =>
          Effect.gen(function* () {
            if (!isJson(request)) return refusals.mediaType
            const body = parseJson(yield* readBody(request))
            if (Result.isFailure(body)) return body.failure
            const command = decodeCommand(body.success)
            if (Option.isNone(command)) return wrongAction
            const { action, campaign } = command.value
            const outcome = yield* Effect.mapError(operator.act(campaign, who, action), toAnswer)
            return outcome === undefined ? unknownCampaign : json(200, outcome, `console_${action.type}`)
          }),
        ),
      )
      .handleRaw("reload", () =>
        authorized((who) =>
          Effect.gen(function* () {
            if (Option.isNone(reloader)) return notReloadable
            const outcome = yield* reloader.value.reload(who)
            if (outcome._tag === "refused") return settingsRefused(outcome.problems)
            const { changed, kept } = outcome
            return json(200, { changed, kept }, "console_reload")
          }),
        ),
      )
  }),
)
