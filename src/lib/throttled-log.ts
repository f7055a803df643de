/**
 * Log lines about what happens again and again, such as what anyone can cause: at most one a minute, so that they do not fill the log.
 * Those that are left out are counted.
 */
import { Clock, Effect, type Scope } from "effect"
import { ageOf } from "./age.ts"

/** The time between two lines (ms). */
export const LINE_EVERY_MILLIS = 60_000

/**
 * Logs the first at once, and later ones unless a line was logged within the last minute.
 *
 * @param line writes a line; `more` were left out since the last one
 */
export const onceAMinute = <A>(
  line: (what: A, more: number) => Effect.Effect<void>,
): ((what: A) => Effect.Effect<void>) => {
  let loggedAt = Number.NEGATIVE_INFINITY
  let omitted = 0
  return (what) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (ageOf(loggedAt, now) < LINE_EVERY_MILLIS) {
        omitted++
        return Effect.void
      }
      const more = omitted
      loggedAt = now
      omitted = 0
      return line(what, more)
    })
}

/** The lines about one kind of thing that goes on. */
export interface CountedLines<Kind extends string, A> {
  /** when it begins */
  readonly first: (kind: Kind, what: A) => Effect.Effect<void>
  /** each minute while it goes on: how many there were since the last line, and the last of them */
  readonly more: (kind: Kind, count: number, last: A) => Effect.Effect<void>
  /** after a minute without any; by default nothing is logged, and the next one begins anew */
  readonly over?: (kind: Kind) => Effect.Effect<void>
}

/** Notes one: returns the line to log, undefined if it was only counted. */
export type Note<Kind extends string, A> = (kind: Kind, what: A) => Effect.Effect<void> | undefined

/** Logs the first of each kind at once, and each minute how many followed, also when no more come. */
export const countedEachMinute = <Kind extends string, A>({
  first,
  more,
  over = () => Effect.void,
}: CountedLines<Kind, A>): Effect.Effect<Note<Kind, A>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope): Note<Kind, A> => {
    /** what has followed the last line, of the kinds that go on */
    const following = new Map<Kind, { count: number; last: A }>()

    const eachMinute = Effect.fnUntraced(function* (kind: Kind, since: { count: number; last: A }) {
      for (;;) {
        yield* Effect.sleep(LINE_EVERY_MILLIS)
        const { count } = since
        if (count === 0) {
          following.delete(kind)
          return yield* over(kind)
        }
        since.count = 0
        yield* more(kind, count, since.last)
      }
    })

    return (kind, what) => {
      const since = following.get(kind)
      if (since !== undefined) {
        since.count++
        since.last = what
        return undefined
      }
      const begun = { count: 0, last: what }
      following.set(kind, begun)
      return Effect.andThen(first(kind, what), Effect.forkIn(eachMinute(kind, begun), scope))
    }
  })
