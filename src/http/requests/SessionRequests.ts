/** Session requests over HTTP: the body of one to its answer. */
import { Context, Effect, Layer, Predicate, Result } from "effect"
import { makeCampaigns } from "../../gatekeeper/Campaigns.ts"
import { campaignOf } from "../../gatekeeper/checks/Validate.ts"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { type Answer, failed } from "../answers/answer.ts"
import { parseJson } from "../incoming/body.ts"
import { queued, started } from "./answers.ts"
import { TicketLimits } from "./ticket-limits.ts"

export class SessionRequests extends Context.Service<
  SessionRequests,
  {
    /** @param token of `Authorization: Bearer`; undefined and empty for none */
    readonly request: (body: string, address: string, token?: string | undefined) => Effect.Effect<Answer>
    /** Withdraws the ticket of an answer that could not be delivered. */
    readonly withdraw: (ticket: string, address: string) => Effect.Effect<void>
  }
>()("voicegate/http/SessionRequests") {}

/**
 * The ticket that a request names; null or undefined if none. Such a request returns the ticket's state and counts as presence
 * without taking quota, so it has a limit of its own (`Security.StatusPerMinute`).
 */
const namedTicket = (body: unknown): unknown =>
  Predicate.hasProperty(body, "uniqueRequestId") ? body.uniqueRequestId : undefined

/** @param basePath where a host has mounted the gate; empty for the gate's own server */
export const layer = (basePath: string): Layer.Layer<SessionRequests, never, Gatekeeper | Settings | TicketLimits> =>
  Layer.effect(
    SessionRequests,
    Effect.gen(function* () {
      const gatekeeper = yield* Gatekeeper
      const limits = yield* TicketLimits
      const campaigns = derived(yield* currentSettings, makeCampaigns)

      return SessionRequests.of({
        request: (text, address, token) => {
          const body = parseJson(text)
          if (Result.isFailure(body)) return Effect.succeed(body.failure)
          const named = namedTicket(body.success)
          let subject: string | undefined
          const identified = (of: string): void => {
            subject = of
          }
          const withSubject = (answer: Answer): Answer => (subject === undefined ? answer : { ...answer, subject })
          const answer = Effect.match(gatekeeper.request(body.success, { address, token, identified }), {
            onSuccess: (session) => withSubject(started(session)),
            onFailure: (error): Answer =>
              withSubject(
                error._tag === "Queued"
                  ? queued(error, basePath)
                  : { ...failed(error), campaign: campaignOf(campaigns(), body.success)?.name },
              ),
          })
          if (named === undefined || named === null) return answer
          const ticket = typeof named === "string" ? named : ""
          const refusal = limits.use(ticket, "rejoin", address)
          if (refusal !== undefined) return Effect.succeed(refusal)
          return Effect.map(answer, (answer) => {
            const { newTicket, ...known } = answer
            const exists = (newTicket ?? answer.startedTicket) === named
            limits.answered(ticket, address, exists ? true : undefined)
            return exists ? known : answer
          })
        },
        withdraw: (ticket, address) => gatekeeper.withdraw(ticket, { address }),
      })
    }),
  )
