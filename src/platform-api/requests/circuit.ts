/**
 * A circuit breaker per platform address: when the platform does not answer, calls fail fast for a while.
 *
 * One caller must not open the circuit for others by sending input that makes the platform fail. So consecutive failures are
 * counted per group of callers: failures of five different groups open it, one group alone never does. A call that could not
 * connect counts every time, since the caller's input cannot be the reason. Other failures of the gate's own reads do not
 * count: reading one session's history may fail because of its caller. Any usable answer to a start resets the count; one to a
 * read says that the platform can be reached, and nothing of starts.
 */
import { Duration, Effect, Exit, Option, Schedule, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { type PlatformError, unavailable } from "../errors.ts"

/** How many consecutive failures open the circuit, each of a different group of callers or of none. */
export const CIRCUIT_FAILURES = 5
/** The same after the circuit was open, until the platform answers a start: a failed probe of one group alone does not reopen it. */
const CIRCUIT_PROBES = 2
/** How long the circuit stays open the first time (ms); doubled while probes fail, up to a minute. */
export const CIRCUIT_OPEN_MILLIS = 5_000

const openDuration = Schedule.min([Schedule.exponential(`${CIRCUIT_OPEN_MILLIS} millis`), Schedule.spaced("1 minute")])

/**
 * Runs a call unless the circuit `name`, such as the platform's address, is open. `group` is the caller's group, undefined for the gate's
 * own calls.
 */
export type Circuit = <A>(
  name: string,
  group: string | undefined,
  call: Effect.Effect<A, PlatformError>,
) => Effect.Effect<A, PlatformError>

/** The consecutive failures of one address; keeps at most `CIRCUIT_FAILURES` groups. */
class FailureStreak {
  #groups = new Set<string>()
  #others = 0
  #opened = false

  /** True when it opens the circuit. */
  countFailure(group: string | undefined): boolean {
    if (group === undefined) this.#others++
    else this.#groups.add(group)
    const needed = this.#opened ? CIRCUIT_PROBES : CIRCUIT_FAILURES
    if (this.#groups.size + this.#others < needed) return false
    this.#clear()
    this.#opened = true
    return true
  }

  /** The platform has answered a start, or a call of the gate's own. */
  answered(group: string | undefined): void {
    this.#others = 0
    if (group === undefined) return
    this.#groups.clear()
    this.#opened = false
  }

  #clear(): void {
    this.#groups.clear()
    this.#others = 0
  }
}

const circuitOpen = (error: CircuitBreaker.CircuitBreakerError): PlatformError => {
  const message = "the platform has not answered recently; the gate will try again shortly"
  const { reason } = error
  const millis = reason._tag === "CircuitOpen" ? Math.ceil(Duration.toMillis(reason.retryAfter)) : undefined
  return unavailable("circuit_open", false, message, millis)
}

/** Nothing was sent, so the caller's input cannot be the reason. */
const neverSent = ({ reason }: PlatformError): boolean =>
  reason._tag === "Unavailable" && reason.reason === "unreachable" && !reason.mayHaveHappened

export const makeCircuit: Effect.Effect<Circuit, never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> = Effect.gen(
  function* () {
    // the streaks decide; a single failure that they report opens the circuit
    const breaker = yield* CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration })
    const streaks = new Map<string, FailureStreak>()
    const streakOf = (name: string): FailureStreak => {
      const streak = streaks.get(name) ?? new FailureStreak()
      streaks.set(name, streak)
      return streak
    }

    const judge = (
      streak: FailureStreak,
      group: string | undefined,
      error: PlatformError | undefined,
    ): CircuitBreaker.Outcome => {
      switch (error?.reason._tag) {
        case "Unavailable": {
          const sent = !neverSent(error)
          if (sent && group === undefined) return CircuitBreaker.ignored
          return streak.countFailure(sent ? group : undefined) ? CircuitBreaker.failure() : CircuitBreaker.ignored
        }
        // the platform may send these before it reaches the step that fails
        case "RequestRefused":
        case "KeyRateLimited":
          return CircuitBreaker.ignored
        default:
          streak.answered(group)
          return CircuitBreaker.success
      }
    }

    return (name, group, call) =>
      breaker
        .execute(call, {
          key: name,
          classify: (exit) => judge(streakOf(name), group, Option.getOrUndefined(Exit.findErrorOption(exit))),
        })
        .pipe(Effect.catchTag("CircuitBreakerError", (error) => Effect.fail(circuitOpen(error))))
  },
)
