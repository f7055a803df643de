/** A waiting ticket, its push channel, and what is sent over it. */
import { Effect } from "effect"
import { begin, enqueue } from "../../support/gate.ts"

export const eventsOf = (url: string, ticket: string): string => `${url}/api/session/${ticket}/events`
export const has = (type: string) => (events: ReadonlyArray<{ readonly type: string }>) =>
  events.some((event) => event.type === type)

/** A running call and a ticket that waits behind it. */
export const waiting = Effect.andThen(begin("203.0.113.1"), enqueue("203.0.113.2"))

export const START = JSON.stringify({ type: "start" })
