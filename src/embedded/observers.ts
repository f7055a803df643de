/**
 * What a host can listen to: the outcomes of session requests, and calls as they begin and end. Listeners run after the gate has answered,
 * each in its own turn of the event loop, so that none can fail or delay a caller's answer.
 */

import { Context, Effect, Layer } from "effect"
import { Gatekeeper, type RequestError } from "../gatekeeper/Gatekeeper.ts"
import { toProblem } from "../http/answers/failures.ts"
import type { Started } from "../protocol/session-answers.ts"
import type { RequestRefusal, StartRefusal } from "./results.ts"

/** The outcome of a session request, over HTTP or by the host. A repeated request for a ticket that has not ended counts as another. */
export interface OutcomeEvent {
  /** a refusal has the code of its answer */
  readonly outcome: "started" | "queued" | RequestRefusal
  /** the caller's address */
  readonly address: string
  /** for `queued`: 1 is next */
  readonly queuePosition?: number
}

/** A call that this instance started, failed to start, or whose end was reported to it. The ids are the platform's. */
export type CallEvent =
  | { readonly type: "started"; readonly sessionId: string }
  | { readonly type: "not_started"; readonly code: StartRefusal }
  | {
      readonly type: "ended"
      readonly sessionIds: ReadonlyArray<string>
      /** whether that freed a slot: false for repeats and for unknown sessions */
      readonly released: boolean
    }

/** The events of `gate.on`, by name. */
export interface GateEvents {
  readonly outcome: OutcomeEvent
  readonly call: CallEvent
}

type ListenerOf<Name extends keyof GateEvents> = (event: GateEvents[Name]) => unknown

/** Adds a listener, and returns a function that removes it. */
export type On = <Name extends keyof GateEvents>(name: Name, listener: ListenerOf<Name>) => () => void

export class Observers extends Context.Service<
  Observers,
  {
    readonly on: On
    /** Calls the listeners in a later turn of the event loop. */
    readonly emit: <Name extends keyof GateEvents>(name: Name, event: GateEvents[Name]) => void
  }
>()("voicegate/embedded/Observers") {}

export const layer: Layer.Layer<Observers> = Layer.effect(
  Observers,
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const listeners: { readonly [Name in keyof GateEvents]: Set<ListenerOf<Name>> } = {
      outcome: new Set(),
      call: new Set(),
    }
    const failed = new WeakSet<object>()
    /** Logs the first failure of each listener: one that always fails would fill the log. */
    const logFailure = (name: string, listener: object, cause: unknown): void => {
      if (failed.has(listener)) return
      failed.add(listener)
      run(Effect.logWarning(`A listener of the host for "${name}" failed; its further failures are not logged.`, cause))
    }
    const tell = async <Name extends keyof GateEvents>(
      name: Name,
      listener: ListenerOf<Name>,
      event: GateEvents[Name],
    ): Promise<void> => {
      try {
        await listener(event)
      } catch (cause) {
        logFailure(name, listener, cause)
      }
    }
    return Observers.of({
      on: (name, listener) => {
        if (!Object.hasOwn(listeners, name)) {
          throw new TypeError(
            `event: expected one of ${Object.keys(listeners).join(", ")}, found ${JSON.stringify(name)}`,
          )
        }
        if (typeof listener !== "function") throw new TypeError("listener: expected a function")
        const own: ListenerOf<typeof name> = (event) => listener(event)
        listeners[name].add(own)
        return () => void listeners[name].delete(own)
      },
      emit: (name, event) => {
        for (const listener of listeners[name]) setImmediate(() => void tell(name, listener, event))
      },
    })
  }),
)

/** The gatekeeper of the host's gate, which tells the listeners what it answers, whoever asked: HTTP, a WebSocket, the hub, the host. */
export const layerObserved: Layer.Layer<Gatekeeper, never, Gatekeeper | Observers> = Layer.effect(
  Gatekeeper,
  Effect.gen(function* () {
    const gatekeeper = yield* Gatekeeper
    const { emit } = yield* Observers
    const started = ({ sessionId }: Started): void => emit("call", { type: "started", sessionId })
    const refused = (error: RequestError, address: string): void =>
      error._tag === "Queued"
        ? emit("outcome", { outcome: "queued", address, queuePosition: error.queuePosition })
        : emit("outcome", { outcome: toProblem(error).code, address })
    return Gatekeeper.of({
      ...gatekeeper,
      request: (body, caller) =>
        gatekeeper.request(body, caller).pipe(
          Effect.tapError((error) => Effect.sync(() => refused(error, caller.address))),
          Effect.tap((session) =>
            Effect.sync(() => {
              emit("outcome", { outcome: "started", address: caller.address })
              started(session)
            }),
          ),
        ),
      start: (ticket) =>
        gatekeeper.start(ticket).pipe(
          Effect.tapError((error) =>
            Effect.sync(() => emit("call", { type: "not_started", code: toProblem(error).code })),
          ),
          Effect.tap((session) => Effect.sync(() => started(session))),
        ),
      sessionEnded: (sessionIds) =>
        gatekeeper
          .sessionEnded(sessionIds)
          .pipe(Effect.tap((released) => Effect.sync(() => emit("call", { type: "ended", sessionIds, released })))),
      endReported: (sessionIds) =>
        Effect.tap(gatekeeper.endReported(sessionIds), (result) =>
          Effect.sync(() => emit("call", { type: "ended", sessionIds, released: result === "released" })),
        ),
    })
  }),
)
