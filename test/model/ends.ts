/**
 * What a reported end must answer, and which attempt the queue then remembers as the one that freed the slot. Of all attempts to report
 * one end, one frees the slot; a later one can only take its place, by naming it as lost.
 */
import type { SessionEnd } from "../../src/fifo-queue/answers.ts"
import type { ReportedEnd } from "../../src/fifo-queue/rules/end.ts"
import type { QueueState } from "./queue-state.ts"

/** An end that was carried out. */
export interface CarriedEnd {
  readonly before: QueueState
  readonly after: QueueState
  readonly call: ReportedEnd
  readonly result: SessionEnd
}

const MARK = "="

/** The attempts that have freed a slot, and that nobody has taken over. */
const attemptsIn = ({ endedSessions }: QueueState): ReadonlySet<string> =>
  new Set([...endedSessions.keys()].filter((entry) => entry.startsWith(MARK)).map((entry) => entry.slice(MARK.length)))

/** What is wrong with the answer, and with what is remembered. */
export const wrongEnd = ({ after, before, call, result }: CarriedEnd): ReadonlyArray<string> => {
  const { attempt, lost = [], sessions } = call
  const expected = new Set(attemptsIn(before))
  const frees = sessions.some((session) => before.sessions.has(session))
  const takenOver = frees ? undefined : lost.find((each) => expected.has(each))
  if (takenOver !== undefined) expected.delete(takenOver)
  if ((frees || takenOver !== undefined) && attempt !== undefined) expected.add(attempt)
  const known = sessions.some((session) => before.endedSessions.has(session))
  const answer = frees ? "released" : takenOver !== undefined ? "again" : known ? "repeat" : "unknown"
  const remembered = attemptsIn(after)
  const isRight = remembered.size === expected.size && [...expected].every((each) => remembered.has(each))
  return [
    ...(result === answer ? [] : [`I6: an end answered ${result}, not ${answer}`]),
    // attempts are random, and histories repeat
    ...(isRight ? [] : [`I6: ${remembered.size} attempts have freed a slot, not these ${expected.size}`]),
  ]
}
