/** What the holder of a live or ended ticket is told. */

import { decode, isObject, textsIn } from "../../store/rules/native.ts"
import type { LiveOrEnded } from "../answers.ts"
import { callNext } from "./shared/call-next.ts"
import { endSession } from "./shared/line.ts"
import { quarantine } from "./shared/load.ts"
import type { Step } from "./shared/step.ts"
import type { Ticket } from "./shared/ticket.ts"

const namesSession = (data: string): boolean => {
  const found = decode(data)
  return isObject(found) && textsIn(found.s).length > 0
}

/** A live ticket; it ends as failed when its session is not on record any more. */
export const liveOrFailed = (s: Step, id: string, ticket: Ticket): LiveOrEnded => {
  const data = s.db.hget(s.keys.data, id)
  if (data !== undefined && namesSession(data)) {
    const { endsAt, silentUntil, spent } = ticket
    return {
      _tag: "live",
      data,
      ...(silentUntil === undefined ? {} : { silentUntil }),
      ...(endsAt === undefined ? {} : { endsAt }),
      ...(spent === undefined ? {} : { spent }),
    }
  }
  quarantine(s, "data", id, data ?? "")
  endSession(s, id, ticket, "failed")
  callNext(s)
  return { _tag: "ended", state: "failed" }
}
