/**
 * The pipeline: the one place where the order of checks can be read.
 *
 *     validate → address → limits → slot or queue → platform
 *
 * A caller whose rate limit is known to be exhausted is refused before the address lookup.
 *
 * A request succeeds with a started session and fails with every other outcome, `Queued` included. If a later step fails,
 * quota, slot and place are given back. If the process dies first, their deadlines free them.
 */
import { Context, Effect, Layer } from "effect"
import { CallerNames } from "../caller-names/CallerNames.ts"
import { Campaigns } from "./Campaigns.ts"
import { Tickets } from "./calls/Tickets.ts"
import { Admit } from "./checks/Admit.ts"
import { CheckAddress } from "./checks/CheckAddress.ts"
import { campaignOf, Validate } from "./checks/Validate.ts"
import type { Gatekeeper } from "./Gatekeeper.ts"
import * as metrics from "./metrics.ts"
import { Shutdown, type Work } from "./Shutdown.ts"
import { tracing } from "./spans.ts"
import { Traces } from "./Traces.ts"

export class Pipeline extends Context.Service<Pipeline, Pick<Gatekeeper["Service"], "request">>()(
  "voicegate/gatekeeper/Pipeline",
) {}

export const layer: Layer.Layer<
  Pipeline,
  never,
  Admit | CallerNames | Campaigns | CheckAddress | Shutdown | Tickets | Traces | Validate
> = Layer.effect(
  Pipeline,
  Effect.gen(function* () {
    const { admit, newcomer: newcomerOf, start } = yield* Admit
    const { ready } = yield* CallerNames
    const checkAddress = yield* CheckAddress
    const shutdown = yield* Shutdown
    const tickets = yield* Tickets
    const traces = yield* Traces
    const validate = yield* Validate
    const campaigns = yield* Campaigns
    const context = yield* Effect.context<never>()
    const rejoin = traces.inTicketTrace("Gatekeeper.rejoin", tickets.rejoin)

    const check = Effect.fnUntraced(function* (body: unknown, address: string, work: Work) {
      const validated = yield* validate(body)
      const existing = validated.ticket === undefined ? undefined : yield* rejoin(validated.ticket)
      if (existing !== undefined) return existing
      // from here on it may take a slot, so a shutdown waits for it
      yield* work.begin()
      if (ready !== undefined) yield* ready
      const { campaign } = validated
      yield* checkAddress(address, campaign)
      const trace = traces.current === undefined ? undefined : yield* traces.current
      const { newcomer, stored } = newcomerOf(validated, address, trace)
      // limits and slot or queue in one step, then the platform: a client that disconnects does not interrupt what takes quota and a slot
      return yield* Effect.uninterruptible(
        Effect.flatMap(admit(campaign, newcomer), (lease) => start(campaign, newcomer, stored, lease)),
      )
    })

    const request: Gatekeeper["Service"]["request"] = (body, { address }) =>
      Effect.suspend(() => {
        const work = shutdown.newWork()
        // hot path: one frame ends the work and counts the outcome, both by plain calls
        return Effect.onExitPrimitive(check(body, address, work), (exit) => {
          work.end()
          metrics.countRequest(exit, () => campaignOf(campaigns, body)?.name ?? "", context)
          return undefined
        })
      })
    return { request: (yield* tracing)("Gatekeeper.request", request) }
  }),
)
