/**
 * Whether a ticket is called now. However many ask, the slots of its campaign are read at most once a second, and nothing else is: whoever
 * asks for tickets that do not exist must not make the gate read every campaign, or ask a platform.
 */
import { Context, Effect, Layer } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { shortHash } from "../../fifo-queue/short-hash.ts"
import { cachedFor } from "../../lib/cached-for.ts"
import { Campaigns } from "../Campaigns.ts"
import { Steps } from "../Steps.ts"

/** The slots that are read: those with the earliest deadlines. */
const SLOTS = { firstSlot: 0, slots: 100, firstPlace: 0, places: 0 }
const KNOWN_FOR_MILLIS = 1_000

export class CalledTickets extends Context.Service<CalledTickets, (ticket: string) => Effect.Effect<boolean>>()(
  "voicegate/gatekeeper/CalledTickets",
) {}

export const layer: Layer.Layer<CalledTickets, never, Campaigns | FifoQueue | Steps> = Layer.effect(
  CalledTickets,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { operator } = yield* FifoQueue
    const { at, step } = yield* Steps
    /** of each campaign the short hashes of its called tickets; none while the store is unavailable */
    const called = new Map(
      yield* Effect.forEach(campaigns.all, (campaign) => {
        const read = Effect.suspend(() => step(at(campaign), operator.snapshot(at(campaign), SLOTS))).pipe(
          Effect.map(
            ({ slotPage }) => new Set(slotPage.flatMap(({ state, ticket }) => (state === "called" ? [ticket] : []))),
          ),
          Effect.orElseSucceed(() => new Set<string>()),
        )
        return Effect.map(cachedFor(read, KNOWN_FOR_MILLIS), (cached) => [campaign, cached] as const)
      }),
    )
    return (ticket) => {
      const campaign = campaigns.ofTicket(ticket)
      const found = campaign && called.get(campaign)
      return found === undefined ? Effect.succeed(false) : Effect.map(found, (all) => all.has(shortHash(ticket)))
    }
  }),
)
