/** Reads what the queue's scripts answer and publish, into the types of `FifoQueue`. */
import type { Admitted, Doubt, Place, Settlement, Signal, Standing, Touched } from "../FifoQueue.ts"
import type { TicketState } from "../Session.ts"
import type { Reply } from "../Store.ts"
import { integer, text } from "../store/reply.ts"

const states: Record<string, TicketState> = {
  w: "waiting",
  c: "called",
  s: "starting",
  l: "live",
  E: "ended",
  L: "left",
  A: "abandoned",
  M: "missed",
  F: "failed",
  R: "reclaimed",
  X: "removed",
}

export const stateOf = (letter: Reply | undefined): TicketState => {
  const state = states[text(letter)]
  if (state === undefined) throw new TypeError(`a script answered the unknown state ${JSON.stringify(letter)}`)
  return state
}

export const placeOf = (reply: ReadonlyArray<Reply>): { readonly _tag: "waiting" } & Place => ({
  _tag: "waiting",
  position: integer(reply[1]),
  length: integer(reply[2]),
  averageMillis: integer(reply[3]),
  disrupted: reply[4] === 1,
})

export const admissionOf = (reply: ReadonlyArray<Reply>): Admitted => {
  switch (reply[0]) {
    case "starting":
      return { _tag: "starting", lease: text(reply[1]) }
    case "full":
      return { _tag: "full", length: integer(reply[1]), averageMillis: integer(reply[2]) }
    case "draining":
      return { _tag: "draining" }
    default:
      return placeOf(reply)
  }
}

export const called = (reply: ReadonlyArray<Reply>): { readonly startBefore: number; readonly lease: string } => ({
  startBefore: integer(reply[1]),
  lease: text(reply[2]),
})

/** Reads a signal as scripts return and publish it: kind, and a value that depends on it. */
export const signalOf = (ticket: string, kind: string, value: string): Signal => {
  if (kind === "ended") return { ticket, kind: { _tag: "ended", state: stateOf(value) } }
  const [startBefore, lease] = value.split(" ")
  return { ticket, kind: { _tag: "called", ...called(["called", startBefore ?? "", lease ?? ""]) } }
}

/** Reads a signal as scripts publish it; undefined for one that a newer instance may know and this one does not. */
export const readSignal = (message: string): Signal | undefined => {
  const match = /^(\S+) (?:(called) (\d+ \d+)|(ended) ([ELAMFRX]))$/.exec(message)
  if (match === null) return undefined
  const [, ticket = "", called, when, , state] = match
  return called === undefined ? signalOf(ticket, "ended", state ?? "") : signalOf(ticket, called, when ?? "")
}

export const settlementOf = (kind: string, ticket: string, caller: string): Settlement => ({
  kind: kind === "refund" || kind === "missed" ? kind : "release",
  ticket,
  caller,
})

export const standingOf = (reply: ReadonlyArray<Reply>): Standing => {
  switch (reply[0]) {
    case "waiting":
      return placeOf(reply)
    case "called":
      return { _tag: "called", ...called(reply) }
    case "starting":
      return { _tag: "starting" }
    case "live":
      return { _tag: "live", data: text(reply[1]) }
    case "over":
      return { _tag: "over", state: stateOf(reply[1]) }
    default:
      return { _tag: "unknown" }
  }
}

export const touchedOf = (ticket: string, reply: ReadonlyArray<Reply>): Touched => ({
  ticket,
  state: reply[0] === "-" ? undefined : stateOf(reply[0]),
  position: reply[0] === "w" ? integer(reply[1]) : 0,
  ...(reply[0] === "c" ? called(reply) : { startBefore: 0, lease: "" }),
})

/** When and where a record was found that was none, as `quarantine` writes it; nothing where there was none. */
export const foundOf = (found: string): { readonly at: number; readonly last: string } => {
  const blank = found.indexOf(" ")
  return { at: Number(found.slice(0, Math.max(0, blank))) || 0, last: found.slice(blank + 1) }
}

export const doubtOf = ([id, since, data]: ReadonlyArray<Reply>): Doubt => {
  const kept = text(data)
  const blank = kept.indexOf(" ")
  return { id: text(id), ticket: kept.slice(0, blank), since: integer(since), data: kept.slice(blank + 1) }
}
