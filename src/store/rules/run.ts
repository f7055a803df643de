/**
 * How a rule runs: its input and its answers, the same in this process and in Redis. A run takes a list of calls,
 * decides them one after the other in one step, and answers each.
 */
import type { Db } from "./db.ts"

/** @param keys those that all calls share, then each call's own */
export type Run<Context, Call, Answer> = (
  db: Db,
  keys: ReadonlyArray<string>,
  now: number,
  context: Context,
  calls: ReadonlyArray<Call>,
) => ReadonlyArray<Answer>

/** A rule without a context. */
export const runPlain =
  <Call, A>(rule: (db: Db, keys: ReadonlyArray<string>, now: number, call: Call) => A): Run<object, Call, A> =>
  (db, keys, now, _context, calls) => {
    const answers: Array<A> = []
    for (const call of calls) answers.push(rule(db, keys, now, call))
    return answers
  }
