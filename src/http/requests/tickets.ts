/** The endpoints of tickets: state, start, offer, silence and leaving. */

import { Effect, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { OfferKind } from "../../protocol/offers.ts"
import { isoTime } from "../../protocol/session-answers.ts"
import { Routed } from "../Api.ts"
import { toCalledAgainProblem, toProblem, toStartProblem } from "../answers/failures.ts"
import { answered, refuse } from "../answers/respond.ts"
import { bearerOf, incoming } from "../incoming/body.ts"
import { startedBody } from "./answers.ts"
import { noOffer } from "./api.ts"

const isKind = Schema.is(OfferKind)

/** How an SDP begins (RFC 8866 §5). */
const SDP = /^v=0\r?\n/

export const tickets = HttpApiBuilder.group(
  Routed,
  "Tickets",
  Effect.fnUntraced(function* (handlers) {
    const gatekeeper = yield* Gatekeeper

    const leave = (ticket: string, taken: unknown) =>
      Effect.matchEffect(gatekeeper.leave(ticket, isKind(taken) ? taken : undefined), {
        onFailure: (error) => refuse(toProblem(error)),
        onSuccess: () => answered("left", undefined),
      })

    return handlers
      .handle("status", ({ params, query }) =>
        Effect.matchEffect(gatekeeper.status(params.id, query.hidden === "true"), {
          onFailure: (error) => refuse(toProblem(error)),
          onSuccess: (status) => answered(status.state, status),
        }),
      )
      .handle("start", ({ params }) =>
        Effect.matchEffect(gatekeeper.start(params.id), {
          onFailure: (error) => refuse(error._tag === "PlatformUnavailable" ? toStartProblem(error) : toProblem(error)),
          onSuccess: (session) => answered("started", startedBody(session)),
        }),
      )
      .handle(
        "relay",
        ({ params, payload: offer }) =>
          Effect.gen(function* () {
            if (!SDP.test(offer)) return yield* refuse(noOffer)
            const request = yield* incoming
            return yield* Effect.matchEffect(gatekeeper.relay(params.id, bearerOf(request), offer), {
              onFailure: (error) =>
                refuse(
                  error._tag === "PlatformUnavailable"
                    ? toStartProblem(error)
                    : error._tag === "NotYourTurn"
                      ? toCalledAgainProblem(error)
                      : toProblem(error),
                ),
              onSuccess: ({ answer, callId }) =>
                Effect.andThen(
                  // without the answer the page will never connect
                  request.socket?.writable === false ? Effect.ignore(gatekeeper.leave(params.id)) : Effect.void,
                  answered("relayed", answer, callId === undefined ? {} : { location: `/v1/realtime/calls/${callId}` }),
                ),
            })
          }),
        // a page that disconnects must not interrupt its start
        { uninterruptible: true },
      )
      .handle("silence", ({ params, payload }) =>
        Effect.matchEffect(gatekeeper.silence(params.id, payload.seconds * 1000), {
          onFailure: (error) => refuse(toProblem(error)),
          onSuccess: (endsAt) =>
            answered(endsAt === undefined ? "speech" : "silent", {
              endsAt: endsAt === undefined ? null : isoTime(endsAt),
            }),
        }),
      )
      .handle("leave", ({ params, query }) => leave(params.id, query.taken))
      .handle("leaveWithPage", ({ params, query }) => leave(params.id, query.taken))
  }),
)
