/** Faults in what is offered to those who would wait long, and in what becomes of their places. */
import { Effect } from "effect"
import type { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { offerEvent } from "../../../src/protocol/events.ts"
import { CAMPAIGNS } from "../settings.ts"
import type { Planted } from "../world.ts"

type Service = Gatekeeper["Service"]

/** What a ticket's heartbeat tells of when it was accepted. */
const accepted =
  (change: (at: number) => number | undefined): NonNullable<Planted["heard"]> =>
  (rule, answer) => {
    if (rule !== "queue.heartbeat") return answer
    const { result, ...rest } = answer as { readonly result: { readonly tickets?: ReadonlyArray<object> } }
    const tickets = (result.tickets ?? []).map((entry) => {
      if (!("accepted" in entry)) return entry
      const { accepted: at, ...unknown } = entry
      const told = change(Number(at))
      return told === undefined ? unknown : { ...unknown, accepted: told }
    })
    return { ...rest, result: { ...result, tickets } }
  }

/** The refusals of requests, and answers that are no call yet. */
const refusing =
  (change: (error: Effect.Error<ReturnType<Service["request"]>>) => object): NonNullable<Planted["gatekeeper"]> =>
  (real) => ({
    ...real,
    request: (body, caller) =>
      Effect.mapError(real.request(body, caller), (error) => Object.assign(Object.create(error), change(error))),
  })

export const offerFaults: ReadonlyArray<Planted> = [
  { name: "something is offered before the wait is long", heard: accepted((at) => at / 1000) },
  { name: "nobody who waits long is offered something", heard: accepted(() => undefined) },
  {
    name: "a page is offered something with each event",
    pushed: (event, { offered }) =>
      event.type === "position" && offered > 0
        ? [event, offerEvent([{ kind: "link", label: "Write to us", target: "https://host.example/contact" }])]
        : [event],
  },
  {
    name: "the answer to a request does not tell what is offered",
    gatekeeper: refusing((error) => (error._tag === "Queued" ? { offers: undefined } : {})),
  },
  {
    name: "the state of a ticket does not tell what is offered",
    gatekeeper: (real) => ({
      ...real,
      status: (ticket, hidden) => Effect.map(real.status(ticket, hidden), ({ offers: _, ...status }) => status),
    }),
  },
  {
    name: "nothing is offered with a refusal",
    gatekeeper: refusing((error) =>
      error._tag === "QueueFull" || error._tag === "Closed" || error._tag === "BudgetExhausted"
        ? { offers: undefined }
        : {},
    ),
  },
  {
    name: "a campaign is offered to its own callers",
    pushed: (event) =>
      event.type === "offer"
        ? [offerEvent(CAMPAIGNS.map((target) => ({ kind: "campaign", label: `Ask ${target}`, target })))]
        : [event],
  },
  {
    name: "who leaves for an offer keeps the place",
    gatekeeper: (real) => ({
      ...real,
      leave: (ticket, taken) => (taken === undefined ? real.leave(ticket) : Effect.void),
    }),
  },
]
