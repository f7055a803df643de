/** Converts failures of the services to those of the dashboard's API, and entities to the page's schemas. */
import { Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import type { DatabaseUnavailable } from "../../data/Database.ts"
import type { Page, PageRequest } from "../../data/page.ts"
import type { Business, Refused, WebCampaign } from "../../model.ts"
import { Conflict, Invalid, NotFound, TooManyAttempts, Unavailable } from "./failures.ts"
import type * as Shapes from "./shapes.ts"

/** The failure for too many waiting password checks. */
export const tooMany = Effect.fnUntraced(function* (retryAfterSeconds: number) {
  yield* HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "retry-after", String(retryAfterSeconds))),
  )
  return yield* new TooManyAttempts({
    code: "TOO_MANY_ATTEMPTS",
    message: "too many sign-in attempts from this address",
    retryAfterSeconds,
  })
})

interface Failures {
  readonly invalid: Invalid
  readonly not_found: NotFound
  readonly conflict: Conflict
}

type ErrorFields = Pick<Refused, "code" | "fields" | "message">

const make: { readonly [Kind in keyof Failures]: (fields: ErrorFields) => Failures[Kind] } = {
  invalid: ({ code, fields, message }) => new Invalid({ code, message, ...(fields && { fields }) }),
  not_found: ({ code, message }) => new NotFound({ code, message }),
  conflict: ({ code, message }) => new Conflict({ code, message }),
}

/** A value that the database refuses is an invalid request; the form middleware declares `Invalid` for every endpoint. */
export const unavailable = ({ message, why }: DatabaseUnavailable): Invalid | Unavailable =>
  why === "value"
    ? new Invalid({ code: "VALUE_NOT_ACCEPTED", message })
    : new Unavailable({ code: "SERVICE_UNAVAILABLE", message })

/** Converts refusals of the kinds that the endpoint declares; another kind is a defect. */
export const orFail =
  <Kind extends keyof Failures = never>(...kinds: ReadonlyArray<Kind>) =>
  <A, R>(
    effect: Effect.Effect<A, Refused | DatabaseUnavailable, R>,
  ): Effect.Effect<A, Failures[Kind] | Invalid | Unavailable, R> =>
    Effect.catch(effect, (error): Effect.Effect<never, Failures[Kind] | Invalid | Unavailable> => {
      if (error._tag === "DatabaseUnavailable") return Effect.fail(unavailable(error))
      const kind = kinds.find((each) => each === error.kind)
      return kind === undefined ? Effect.die(error) : Effect.fail(make[kind](error))
    })

export const showCampaign = ({ createdAt, id, maxCallMinutes, name, sessionEnded }: WebCampaign): Shapes.Campaign => ({
  id,
  name,
  maxCallMinutes,
  createdAt,
  webhook:
    sessionEnded === undefined
      ? null
      : {
          url: sessionEnded.url,
          headerNames: Object.keys(sessionEnded.headers),
          signed: sessionEnded.signingSecret !== undefined,
        },
})

export const showBusiness = (
  { createdAt, disabled, id, name }: Business,
  campaigns: ReadonlyArray<WebCampaign>,
): Shapes.Business => ({ id, name, disabled, createdAt, campaigns: campaigns.map(showCampaign) })

interface PageQuery {
  readonly limit?: number
  readonly next?: string
  readonly previous?: string
}

export const pageRequest = ({ limit, next, previous }: PageQuery): PageRequest => ({
  limit,
  nextCursor: next,
  previousCursor: previous,
})

export const mapPage = <A, B>(page: Page<A>, show: (item: A) => B): Shapes.Page<B> => ({
  ...page,
  items: page.items.map(show),
})
