/** The sessions whose WebSockets are in this process: renews them in the database, and reports those that have ended there. */
import { Context, Deferred, Effect, Layer, Schedule, type Scope } from "effect"
import { WebSessions } from "./WebSessions.ts"

/** How often sessions are renewed, in milliseconds; two renewals may fail before a session ends. */
export const RENEW_MILLIS = 20_000

export class LiveSessions extends Context.Service<
  LiveSessions,
  {
    /** Renews a session until the scope closes; the returned effect completes when the session ends before that. */
    readonly hold: (webSessionId: string) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
    /**
     * Tells the holder of a session that it has ended, if the holder is in this process; a holder in another process learns it with its
     * next renewal.
     */
    readonly release: (webSessionId: string) => Effect.Effect<void>
  }
>()("voicegate/platform/LiveSessions") {}

export const layer: Layer.Layer<LiveSessions, never, WebSessions> = Layer.effect(
  LiveSessions,
  Effect.gen(function* () {
    const sessions = yield* WebSessions
    const live = new Map<string, Deferred.Deferred<void>>()

    const renew = Effect.gen(function* () {
      const held = [...live]
      if (held.length === 0) return
      const alive = yield* sessions.renew(held.map(([id]) => id))
      for (const [id, ended] of held) {
        if (!alive.has(id)) yield* Deferred.succeed(ended, undefined)
      }
    })
    yield* renew.pipe(
      // Tries again when the database is unavailable.
      Effect.ignore,
      Effect.schedule(Schedule.spaced(RENEW_MILLIS)),
      Effect.forkScoped,
    )

    return LiveSessions.of({
      hold: Effect.fnUntraced(function* (webSessionId) {
        const ended = yield* Deferred.make<void>()
        yield* Effect.acquireRelease(
          Effect.sync(() => live.set(webSessionId, ended)),
          () => Effect.sync(() => live.delete(webSessionId)),
        )
        return Deferred.await(ended)
      }),
      release: (webSessionId) =>
        Effect.suspend(() => {
          const ended = live.get(webSessionId)
          return ended === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(ended, undefined))
        }),
    })
  }),
)
