/** A voice-agent platform in memory, for tests: it starts sessions, ends them when the test says so, and fails on request. */

import { Clock, Context, Effect, Layer } from "effect"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import { AtCapacity, PlatformError, refused } from "../platform-api/errors.ts"
import type { WebSession } from "../platform-api/model.ts"
import { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { StartConfig } from "../protocol/request.ts"
import type { Started } from "../protocol/session-answers.ts"

/** A session that the platform started, and the request for it. */
export interface FakeSession extends WebSession {
  readonly config: StartConfig
  /** ms since 1970, by the test's clock */
  readonly startedAt: number
  readonly isRunning: boolean
}

export class FakePlatform extends Context.Service<
  FakePlatform,
  {
    /** Every session that was started, oldest first. */
    readonly sessions: Effect.Effect<ReadonlyArray<FakeSession>>
    /** Ends a running session and returns all its ids, which the platform's webhook would name; undefined when none runs with this id. */
    readonly end: (sessionId: string) => Effect.Effect<ReadonlyArray<string> | undefined>
    /** The next starts fail with these errors, one each, in this order. Make them with `PlatformError`. */
    readonly failNext: (...errors: ReadonlyArray<PlatformError>) => Effect.Effect<void>
    /** How many sessions may run at once; a start beyond fails with `AtCapacity`. No limit at first. */
    readonly setLimit: (limit: number) => Effect.Effect<void>
  }
>()("voicegate/testing/FakePlatform") {}

/** The platform as the gate sees it, and as the test controls it. Each build of the layer is a new platform without sessions. */
export const layer: Layer.Layer<PlatformApi | FakePlatform> = Layer.effectContext(
  Effect.sync(() => {
    const sessions: Array<FakeSession> = []
    const failures: Array<PlatformError> = []
    let limit = Number.POSITIVE_INFINITY

    const find = (id: string): number => sessions.findIndex(({ sessionIds }) => sessionIds.includes(id))
    const inUse = (): number => sessions.filter(({ isRunning }) => isRunning).length
    const end = (id: string): FakeSession | undefined => {
      const at = find(id)
      const session = sessions[at]
      if (session?.isRunning !== true) return undefined
      sessions[at] = { ...session, isRunning: false }
      return session
    }
    const start = (config: StartConfig, startedAt: number): Effect.Effect<WebSession, PlatformError> => {
      const failure = failures.shift()
      if (failure !== undefined) return Effect.fail(failure)
      if (inUse() >= limit) {
        const reason = new AtCapacity({ message: `all ${limit} sessions are in use` })
        return Effect.fail(new PlatformError({ reason }))
      }
      const n = sessions.length + 1
      const sessionIds = [`web-session-${n}`, `conversation-${n}`]
      const webSocketUrl = `wss://platform.example/conversation-${n}?token=token-${n}`
      sessions.push({ sessionIds, webSocketUrl, config, startedAt, isRunning: true })
      return Effect.succeed({ sessionIds, webSocketUrl })
    }

    const platform = PlatformApi.of({
      initiate: (config) => Effect.flatMap(Clock.currentTimeMillis, (now) => start(config, now)),
      concurrency: () =>
        Effect.suspend(() =>
          Number.isFinite(limit)
            ? Effect.succeed({ limit, inUse: inUse() })
            : Effect.fail(refused(404, "NOT_FOUND", "The fake platform has no limit. Call setLimit first.")),
        ),
      sessionStatus: (_campaign, id) =>
        Effect.sync(() => {
          const session = sessions[find(id)]
          if (session === undefined) return { status: "unknown", sessionIds: [] }
          return { status: session.isRunning ? "running" : "over", sessionIds: session.sessionIds }
        }),
      sessionsOf: (_campaign, clientIdentifier, since) =>
        Effect.sync(() =>
          sessions
            .filter(({ config, startedAt }) => config.clientIdentifier === clientIdentifier && startedAt >= since)
            .map(({ sessionIds }) => sessionIds),
        ),
      end: (_campaign, { sessionIds }) =>
        Effect.sync(() => {
          for (const id of sessionIds) end(id)
          return true
        }),
      verify: () => Effect.succeed([]),
    })
    const control = FakePlatform.of({
      sessions: Effect.sync(() => [...sessions]),
      end: (id) => Effect.sync(() => end(id)?.sessionIds),
      failNext: (...errors) => Effect.sync(() => void failures.push(...errors)),
      setLimit: (to) =>
        Effect.sync(() => {
          limit = to
        }),
    })
    return Context.make(PlatformApi, platform).pipe(Context.add(FakePlatform, control))
  }),
)

/**
 * The caller of this session hangs up: the platform ends it and its webhook tells the gate. True if that freed a slot; false when the
 * session is already over.
 */
export const hangUp = ({
  sessionId,
}: Pick<Started, "sessionId">): Effect.Effect<boolean, StoreUnavailable, FakePlatform | Gatekeeper> =>
  Effect.gen(function* () {
    const ids = yield* FakePlatform.use((platform) => platform.end(sessionId))
    return ids === undefined ? false : yield* Gatekeeper.use((gate) => gate.sessionEnded(ids))
  })
