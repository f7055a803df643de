/**
 * Takes the SDP offer with which the session of a started ticket begins. Any gate on the store accepts it: what it needs is stored with
 * the ticket, and the queue allows one offer. From then on it is a start like any other: a refusal at capacity puts the caller back at
 * the head of the queue, and a call that may have begun keeps its slot.
 */

import { Context, Effect, Layer, Result } from "effect"
import { FifoQueue } from "../../fifo-queue/FifoQueue.ts"
import { sessionOfToken } from "../../platform-api/shared/offer-token.ts"
import type { StartFailed, StoreUnavailable } from "../../protocol/refusals.ts"
import type { Relayed } from "../../protocol/session-answers.ts"
import type { CalledAgain, CredentialRefused, TicketOver, TicketUnknown } from "../../protocol/ticket.ts"
import { Campaigns } from "../Campaigns.ts"
import * as outcomes from "../outcomes.ts"
import { Steps } from "../Steps.ts"
import { Starts } from "./Starts.ts"
import { storedConfigOf } from "./stored-config.ts"
import { WatchCall } from "./WatchCall.ts"

export class Relay extends Context.Service<
  Relay,
  (
    ticket: string,
    token: string,
    offer: string,
  ) => Effect.Effect<
    Relayed,
    CredentialRefused | TicketUnknown | CalledAgain | TicketOver | StartFailed | StoreUnavailable
  >
>()("voicegate/gatekeeper/Relay") {}

export const layer: Layer.Layer<Relay, never, Campaigns | FifoQueue | Starts | Steps | WatchCall> = Layer.effect(
  Relay,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { at, step } = yield* Steps
    const { relayOffer } = yield* Starts
    const watchCall = yield* WatchCall
    const queue = yield* FifoQueue

    const relay = Effect.fnUntraced(function* (ticket: string, token: string, offer: string) {
      const campaign = campaigns.ofTicket(ticket)
      if (campaign === undefined) return yield* Effect.fail(outcomes.ticketUnknown())
      const session = sessionOfToken(token)
      if (session === undefined) return yield* Effect.fail(outcomes.credentialForeign())
      const where = at(campaign)
      const found = yield* step(where, queue.attach(where, ticket, false))
      if (found._tag === "unknown") return yield* Effect.fail(outcomes.ticketUnknown())
      if (found._tag === "ended") return yield* Effect.fail(outcomes.ticketOver(found.state))
      const awaited = found._tag === "live" ? outcomes.awaitedIn(found.data) : undefined
      const stored = awaited === undefined ? undefined : storedConfigOf(awaited)
      if (awaited === undefined || stored === undefined) return yield* Effect.fail(outcomes.credentialUsed())
      const offered = yield* step(where, queue.offer(where, ticket, session, awaited))
      switch (offered._tag) {
        case "unknown":
          return yield* Effect.fail(outcomes.ticketUnknown())
        case "ended":
          return yield* Effect.fail(outcomes.ticketOver(offered.state))
        case "foreign":
          return yield* Effect.fail(outcomes.credentialForeign())
        case "used":
          return yield* Effect.fail(outcomes.credentialUsed())
        case "starting": {
          // the stored name may differ, because instances may name the campaign differently
          const config = { ...stored, campaign: campaign.name }
          const begun = yield* relayOffer(where, ticket, offered.lease, config, { sdp: offer, session })
          if (Result.isFailure(begun)) return yield* Effect.fail(outcomes.calledAgain(begun.failure))
          const { answer, callId, sessionIds } = begun.success
          yield* watchCall(where, campaign.name, sessionIds[0] ?? "")
          return { answer, callId }
        }
      }
    })

    // a page that disconnects must not interrupt a start halfway
    return (ticket, token, offer) => Effect.uninterruptible(relay(ticket, token, offer))
  }),
)
