/**
 * The pipeline: the one place where the order of checks can be read.
 *
 *     validate → identity → hours → budgets → address → limits → slot or queue → hold of budgets → platform
 *
 * A caller whose rate limit is known to be exhausted is refused before the address lookup.
 *
 * A request succeeds with a started session and fails with every other outcome, `Queued` included. If a later step fails,
 * quota, slot and place are given back. If the process dies first, their deadlines free them.
 */
import { Cause, Context, Effect, Exit, Layer } from "effect"
import { CallerNames } from "../caller-names/CallerNames.ts"
import type { Started } from "../protocol/session-answers.ts"
import { CallerWatch } from "./CallerWatch.ts"
import { Campaigns } from "./Campaigns.ts"
import { Tickets } from "./calls/Tickets.ts"
import { Admit } from "./checks/Admit.ts"
import { CheckAddress } from "./checks/CheckAddress.ts"
import { CheckBudgets } from "./checks/CheckBudgets.ts"
import { CheckHours } from "./checks/CheckHours.ts"
import { type Identified, Identify, type Used } from "./checks/Identify.ts"
import { campaignOf, Validate, type Validated } from "./checks/Validate.ts"
import type { Caller, Gatekeeper, RequestError } from "./Gatekeeper.ts"
import * as metrics from "./metrics.ts"
import { Shutdown, type Work } from "./Shutdown.ts"
import { tracing } from "./spans.ts"
import { Traces } from "./Traces.ts"

const hasTicket = (exit: Exit.Exit<Started, RequestError>): boolean =>
  Exit.isSuccess(exit) ||
  exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error._tag === "Queued")

/** A token that has led to a ticket stays used, also where the client has gone meanwhile, so that nobody is told of the ticket. */
const keepingUse = (taken: Effect.Effect<Started, RequestError>, used: Used): Effect.Effect<Started, RequestError> =>
  Effect.onExitPrimitive(taken, (exit) => {
    if (hasTicket(exit)) used.undo = undefined
    return undefined
  })

export class Pipeline extends Context.Service<Pipeline, Pick<Gatekeeper["Service"], "request">>()(
  "voicegate/gatekeeper/Pipeline",
) {}

export const layer: Layer.Layer<
  Pipeline,
  never,
  | CallerWatch
  | Admit
  | CallerNames
  | Campaigns
  | CheckAddress
  | CheckBudgets
  | CheckHours
  | Identify
  | Shutdown
  | Tickets
  | Traces
  | Validate
> = Layer.effect(
  Pipeline,
  Effect.gen(function* () {
    const { admit, newcomer: newcomerOf, start } = yield* Admit
    const { ready } = yield* CallerNames
    const checkAddress = yield* CheckAddress
    const identify = yield* Identify
    const checkHours = yield* CheckHours
    const checkBudgets = yield* CheckBudgets
    const shutdown = yield* Shutdown
    const tickets = yield* Tickets
    const traces = yield* Traces
    const validate = yield* Validate
    const campaigns = yield* Campaigns
    const { watch } = yield* CallerWatch
    const context = yield* Effect.context<never>()
    const rejoin = traces.inTicketTrace("Gatekeeper.rejoin", tickets.rejoin)

    const check = Effect.fnUntraced(function* (body: unknown, caller: Caller, work: Work, used: Used) {
      const validated = yield* validate(body)
      const existing = validated.ticket === undefined ? undefined : yield* rejoin(validated.ticket)
      if (existing !== undefined) return existing
      // from here on it may take a slot, so a shutdown waits for it
      yield* work.begin()
      if (ready !== undefined) yield* ready
      const { campaign } = validated
      const identifying = identify(validated, caller, used)
      const known: Validated & Partial<Identified> = identifying === undefined ? validated : yield* identifying
      if (known.existing !== undefined) return known.existing
      if (campaign.Hours !== undefined) yield* checkHours(campaign)
      const budgets = checkBudgets(campaign, caller.address, known.identity)
      const wait = budgets === undefined ? undefined : yield* budgets
      yield* checkAddress(caller.address, campaign, known.identity)
      const trace = traces.current === undefined ? undefined : yield* traces.current
      const { newcomer, stored } = newcomerOf(known, caller.address, trace)
      // limits and slot or queue in one step, then the platform: a client that disconnects does not interrupt what takes quota and a slot
      const taken = Effect.flatMap(admit(campaign, newcomer, known.identity?.limits, wait), (lease) =>
        start(campaign, newcomer, stored, lease),
      )
      return yield* Effect.uninterruptible(used.undo === undefined ? taken : keepingUse(taken, used))
    })

    const request: Gatekeeper["Service"]["request"] = (body, caller) =>
      Effect.suspend(() => {
        const work = shutdown.newWork()
        const used: Used = { undo: undefined }
        // hot path: one frame ends the work and counts the outcome, both by plain calls
        return Effect.onExitPrimitive(check(body, caller, work, used), (exit) => {
          work.end()
          const campaign = () => campaignOf(campaigns, body)?.name ?? ""
          const refusal = metrics.countRequest(exit, campaign, context)
          watch?.note(caller.address, refusal, refusal === undefined ? "" : campaign())
          // a token that has led to no ticket is not used
          return used.undo
        })
      })
    return { request: (yield* tracing)("Gatekeeper.request", request) }
  }),
)
