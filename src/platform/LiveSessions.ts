/** The sessions whose WebSockets this process holds: it says for them that they go on, and closes those that are over. */
import { Context, Deferred, Effect, Layer, type Scope } from "effect"
import { WebSessions } from "./WebSessions.ts"

/** How often sessions are renewed, in milliseconds: twice may fail before one ends. */
export const RENEW_MILLIS = 20_000

export class LiveSessions extends Context.Service<
  LiveSessions,
  {
    /** Holds a session for the life of the scope; the effect inside returns when the session is over meanwhile. */
    readonly hold: (webSessionId: string) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
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
      for (const [id, over] of held) {
        if (!alive.has(id)) yield* Deferred.succeed(over, undefined)
      }
    })
    yield* renew.pipe(
      // A database that is away is waited for.
      Effect.ignore,
      Effect.delay(RENEW_MILLIS),
      Effect.forever,
      Effect.forkScoped,
    )

    return LiveSessions.of({
      hold: Effect.fnUntraced(function* (webSessionId) {
        const over = yield* Deferred.make<void>()
        yield* Effect.acquireRelease(
          Effect.sync(() => live.set(webSessionId, over)),
          () => Effect.sync(() => live.delete(webSessionId)),
        )
        return Deferred.await(over)
      }),
    })
  }),
)
