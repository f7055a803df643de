/** The built console in front of a real gate in this process, and ways to fill it. */
import { Effect, Exit, Scope } from "effect"
import { type GateUnderTest, type Options, startGate, TOKEN } from "../../http/console/support.ts"

export interface RunningGate extends GateUnderTest {
  /** Sends so many callers; answers how the last of them were answered. */
  readonly call: (callers: number) => Promise<void>
  /** Callers of whom the gate says where they stand. */
  readonly state: (ticket: string) => Promise<string>
  /** When the pause ends by itself that a caller is told (ms since 1970); undefined without one. */
  readonly pausedUntil: (ticket: string) => Promise<number | undefined>
  /** Ends the n-th session that the platform started. */
  readonly hangUp: (n: number) => Promise<void>
  /** Starts the session of a ticket that was called. */
  readonly start: (ticket: string) => Promise<void>
  /** A caller's ticket. */
  readonly ticket: () => Promise<string>
  readonly close: () => Promise<void>
}

export const runGate = async (options: Options): Promise<RunningGate> => {
  const scope = Scope.makeUnsafe()
  const gate = await Effect.runPromise(Scope.provide(startGate(options), scope))
  const one = gate.gatekeeper.request({}, { address: "192.0.2.1" })
  return {
    ...gate,
    call: (callers) =>
      Effect.runPromise(Effect.forEach(Array.from({ length: callers }), () => Effect.ignore(one), { discard: true })),
    hangUp: (n) => Effect.runPromise(Effect.asVoid(gate.gatekeeper.sessionEnded([`s${n}`]))),
    start: (ticket) => Effect.runPromise(Effect.asVoid(gate.gatekeeper.start(ticket))),
    state: (ticket) => Effect.runPromise(Effect.map(gate.gatekeeper.status(ticket), ({ state }) => state)),
    pausedUntil: (ticket) =>
      Effect.runPromise(
        Effect.map(gate.gatekeeper.status(ticket), ({ pausedUntil }) =>
          pausedUntil === undefined ? undefined : Date.parse(pausedUntil),
        ),
      ),
    ticket: () =>
      Effect.runPromise(
        Effect.match(one, {
          onSuccess: ({ uniqueRequestId }) => uniqueRequestId,
          onFailure: (error) => (error._tag === "Queued" ? error.uniqueRequestId : ""),
        }),
      ),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
}

export { TOKEN }
