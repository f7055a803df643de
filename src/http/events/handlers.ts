/** Answers with the events of a campaign to whoever has its token. */
import { Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { EventLog } from "../../events/EventLog.ts"
import { equalsAny } from "../../lib/equal.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Routed } from "../Api.ts"
import { refusals } from "../answers/answer.ts"
import { toProblem } from "../answers/failures.ts"
import { answered, refuse, respond } from "../answers/respond.ts"
import { bearerOf, incoming } from "../incoming/body.ts"
import { eventProblems } from "./api.ts"

/** How many events, unless the request names another number. */
const LIMIT = 100

const unauthorized = refuse(
  eventProblems.unauthorized.make("authorization: Expected Bearer and a token of the campaign's Events.Token."),
)

const tokensOf = ({ Events }: Campaign): ReadonlyArray<string> => (Events?.Token ?? []).map(Redacted.value)

export const hostEvents = HttpApiBuilder.group(
  Routed,
  "HostEvents",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* EventLog
    const settings = yield* currentSettings

    return handlers.handle("events", ({ query: { after, campaign: name, limit = LIMIT } }) =>
      Effect.gen(function* () {
        const campaigns = settings().Campaigns
        if (!campaigns.some((each) => tokensOf(each).length > 0)) return yield* respond(refusals.notFound)
        const campaign = name === undefined ? campaigns[0] : campaigns.find((each) => each.name === name)
        const token = bearerOf(yield* incoming) ?? ""
        // without a right token nobody learns which campaigns there are
        if (campaign === undefined || !equalsAny(token, tokensOf(campaign))) return yield* unauthorized
        if (limit === 0) return yield* refuse(eventProblems.invalid.make("limit: Expected a number above 0."))
        const page = yield* Effect.catch(log.read(campaign, after, limit), (error) => refuse(toProblem(error)))
        if (page._tag === "gone") {
          const next = String(page.next)
          const detail = `after: Events after it are not kept any more. Go on after ${next}.`
          return yield* refuse(eventProblems.expired.make("cursor_expired", detail, { next }, {}))
        }
        return yield* answered("events", { ...page, next: String(page.next) })
      }),
    )
  }),
)
