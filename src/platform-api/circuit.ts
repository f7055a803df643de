/**
 * The circuit of each platform address: when the platform does not answer, calls fail at once for a while.
 *
 * One caller must not open it for the others by sending what makes the platform fail. So failures in a row are counted by
 * who asked: five different groups of callers open it, one group never does, however often it fails. A call for which no
 * connection came about counts each time, since what a caller sent cannot be the reason. Other failures of the gate's own reads
 * count for nothing: the history of one session may fail because of its caller. Any usable answer ends the row.
 */
import { Duration, Effect, Exit, Option, Schedule, type Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { type PlatformError, unavailable } from "./errors.ts"

/** Failures in a row, each of another group of callers or of none, that open the circuit. */
export const CIRCUIT_FAILURES = 5
/** The same once it has been open, until the platform has answered again: a probe of one group alone decides nothing. */
export const CIRCUIT_PROBES = 2
/** How long the circuit stays open the first time, in milliseconds; doubled while probes fail, up to a minute. */
export const CIRCUIT_OPEN_MILLIS = 5_000

const openDuration = Schedule.min([Schedule.exponential(`${CIRCUIT_OPEN_MILLIS} millis`), Schedule.spaced("1 minute")])

/** Runs a call unless the circuit of this address is open; `group` is who asks, undefined for the gate itself. */
export type Circuit = <A>(
  baseUrl: string,
  group: string | undefined,
  call: Effect.Effect<A, PlatformError>,
) => Effect.Effect<A, PlatformError>

/** The failures of one address since its last usable answer; never more than `CIRCUIT_FAILURES` groups are kept. */
class Row {
  #groups = new Set<string>()
  #others = 0
  #opened = false

  /** Counts a failure and says whether it opens the circuit. */
  failed(group: string | undefined): boolean {
    if (group === undefined) this.#others++
    else this.#groups.add(group)
    const needed = this.#opened ? CIRCUIT_PROBES : CIRCUIT_FAILURES
    if (this.#groups.size + this.#others < needed) return false
    this.#clear()
    this.#opened = true
    return true
  }

  answered(): void {
    this.#clear()
    this.#opened = false
  }

  #clear(): void {
    this.#groups.clear()
    this.#others = 0
  }
}

const circuitOpen = (error: CircuitBreaker.CircuitBreakerError): PlatformError => {
  const message = "the platform has not answered lately; trying again shortly"
  const { reason } = error
  const millis = reason._tag === "CircuitOpen" ? Math.ceil(Duration.toMillis(reason.retryAfter)) : undefined
  return unavailable("circuit_open", false, message, millis)
}

/** Nothing was sent, so nothing that a caller chose can be the reason. */
const neverSent = ({ reason }: PlatformError): boolean =>
  reason._tag === "Unavailable" && reason.reason === "unreachable" && !reason.mayHaveHappened

export const makeCircuit: Effect.Effect<Circuit, never, CircuitBreaker.CircuitBreakerStore | Scope.Scope> = Effect.gen(
  function* () {
    // the rows decide; what they let through as a failure opens the circuit
    const breaker = yield* CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration })
    const rows = new Map<string, Row>()
    const rowOf = (baseUrl: string): Row => {
      const row = rows.get(baseUrl) ?? new Row()
      rows.set(baseUrl, row)
      return row
    }

    const judge = (row: Row, group: string | undefined, error: PlatformError | undefined): CircuitBreaker.Outcome => {
      switch (error?.reason._tag) {
        case "Unavailable": {
          const sent = !neverSent(error)
          if (sent && group === undefined) return CircuitBreaker.ignored
          return row.failed(sent ? group : undefined) ? CircuitBreaker.failure() : CircuitBreaker.ignored
        }
        // the platform may refuse these before it does what fails
        case "RequestRefused":
        case "KeyRateLimited":
          return CircuitBreaker.ignored
        default:
          row.answered()
          return CircuitBreaker.success
      }
    }

    return (baseUrl, group, call) =>
      breaker
        .execute(call, {
          key: baseUrl,
          classify: (exit) => judge(rowOf(baseUrl), group, Option.getOrUndefined(Exit.findErrorOption(exit))),
        })
        .pipe(Effect.catchTag("CircuitBreakerError", (error) => Effect.fail(circuitOpen(error))))
  },
)
