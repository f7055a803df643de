/** What the holder of a ticket is told of it beyond its place in line. */
import { callNext } from "../call-next.ts"
import { endSession } from "../line.ts"
import { quarantine } from "../load.ts"
import { decode, isObject, textsIn } from "../native.ts"
import type { Step } from "../step.ts"
import type { EndState, Ticket } from "../ticket.ts"

export interface Over {
  readonly _tag: "over"
  readonly state: EndState
}

/** `data` is what was bound to the ticket. */
export type LiveOrOver = { readonly _tag: "live"; readonly data: string } | Over

/** Whether what was bound to a ticket says which session it is. */
const namesSession = (data: string): boolean => {
  const found = decode(data)
  return isObject(found) && textsIn(found.s).length > 0
}

/** A live ticket; one whose session nobody knows any more ends. */
export const liveOrFailed = (s: Step, id: string, ticket: Ticket): LiveOrOver => {
  const data = s.db.hget(s.keys.data, id)
  if (data !== undefined && namesSession(data)) return { _tag: "live", data }
  quarantine(s, "data", id, data ?? "")
  endSession(s, id, ticket, "failed")
  callNext(s)
  return { _tag: "over", state: "failed" }
}
