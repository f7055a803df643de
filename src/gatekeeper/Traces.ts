/**
 * One trace for one caller, whichever instances serve it. The context of the request that was accepted is stored with its ticket
 * (`Ticket.trace`). What happens to the ticket later, on any instance, continues that trace: its status, its start call, its start and
 * the end of its session.
 *
 * Without a tracer nothing is stored or looked up. With one, an instance looks a ticket's context up once, in a step of the store, and
 * remembers it, because it never changes. A lookup that fails loses the trace, not the request.
 */
import { Context, Effect, Layer, type Tracer } from "effect"
import { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import { boundedCache } from "../lib/bounded-cache.ts"
import { hasTracer } from "../lib/spans.ts"
import { spanFrom, traceparentOf } from "../lib/trace-context.ts"
import { Campaigns } from "./Campaigns.ts"
import { Steps } from "./Steps.ts"
import { inSpan } from "./spans.ts"

/** The number of tickets whose traces are remembered. */
const MAX_REMEMBERED = 10_000

/** The span that continues a trace; undefined for none. */
type TraceOf = Effect.Effect<Tracer.ExternalSpan | undefined>
export type TraceOfTicket = (ticket: string) => TraceOf

type OnTicket<More extends Array<unknown>, A, E, R> = (ticket: string, ...more: More) => Effect.Effect<A, E, R>
type OnSession<More extends Array<unknown>, A, E, R> = (
  sessionIds: ReadonlyArray<string>,
  ...more: More
) => Effect.Effect<A, E, R>

export class Traces extends Context.Service<
  Traces,
  {
    /** The context of the current span, to store with a new ticket; undefined without a tracer. */
    readonly current: Effect.Effect<string | undefined> | undefined
    readonly ofTicket: TraceOfTicket
    readonly inTicketTrace: <More extends Array<unknown>, A, E, R>(
      name: string,
      call: OnTicket<More, A, E, R>,
    ) => OnTicket<More, A, E, R>
    /** Gives an operation on a session a span in the trace of the ticket that has it. */
    readonly inSessionTrace: <More extends Array<unknown>, A, E, R>(
      name: string,
      call: OnSession<More, A, E, R>,
    ) => OnSession<More, A, E, R>
  }
>()("voicegate/gatekeeper/Traces") {}

const none: TraceOf = Effect.succeed(undefined)

const untraced: Traces["Service"] = {
  current: undefined,
  ofTicket: () => none,
  inTicketTrace: (_name, call) => call,
  inSessionTrace: (_name, call) => call,
}

export const layer: Layer.Layer<Traces, never, Campaigns | FifoQueue | Steps> = Layer.effect(
  Traces,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { at, step } = yield* Steps
    const { traceOf } = yield* FifoQueue
    if (traceOf === undefined || !(yield* hasTracer)) return untraced

    const remembered = boundedCache<Tracer.ExternalSpan>(MAX_REMEMBERED)
    const lookUp = (
      campaign: Campaigns["Service"]["all"][number],
      subject: Parameters<typeof traceOf>[1],
    ): Effect.Effect<string> => {
      const where = at(campaign)
      // the lookup is part of no trace
      return Effect.catch(step(where, traceOf(where, subject)), () => Effect.succeed("")).pipe(
        Effect.withTracerEnabled(false),
      )
    }

    const ofTicket: TraceOfTicket = (ticket) => {
      const known = remembered.get(ticket)
      if (known !== undefined) return Effect.succeed(known)
      const campaign = campaigns.ofTicket(ticket)
      if (campaign === undefined) return none
      return Effect.map(lookUp(campaign, { id: ticket }), (context) => {
        const span = spanFrom(context)
        if (span !== undefined) remembered.set(ticket, span)
        return span
      })
    }

    const ofSession = (sessions: ReadonlyArray<string>): TraceOf =>
      // at most one campaign has the session
      Effect.map(
        Effect.forEach(campaigns.all, (campaign) => lookUp(campaign, { sessions }), { concurrency: "unbounded" }),
        (contexts) => spanFrom(contexts.find((context) => context !== "") ?? ""),
      )

    return {
      current: Effect.withFiber(({ cache: { span } }) =>
        Effect.succeed(span === undefined ? undefined : traceparentOf(span)),
      ),
      ofTicket,
      inTicketTrace:
        <More extends Array<unknown>, A, E, R>(name: string, call: OnTicket<More, A, E, R>): OnTicket<More, A, E, R> =>
        (ticket, ...more) =>
          Effect.flatMap(ofTicket(ticket), (continues) =>
            inSpan(name, { continues })(Effect.suspend(() => call(ticket, ...more))),
          ),
      inSessionTrace:
        <More extends Array<unknown>, A, E, R>(
          name: string,
          call: OnSession<More, A, E, R>,
        ): OnSession<More, A, E, R> =>
        (sessionIds, ...more) =>
          Effect.flatMap(ofSession(sessionIds), (continues) =>
            inSpan(name, { continues })(Effect.suspend(() => call(sessionIds, ...more))),
          ),
    }
  }),
)
