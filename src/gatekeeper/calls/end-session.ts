/** Ends a running session at the platform, for a caller who has left (`EndLeft.ts`) and for an operator (`operator/end-call.ts`). */
import { Effect } from "effect"
import type { WebSession } from "../../platform-api/model.ts"
import type { PlatformApi } from "../../platform-api/PlatformApi.ts"

/**
 * - `over`: the session is over, and its credential opens no other
 * - `unsupported`: the platform cannot be asked to end it
 * - `unconfirmed`: it was asked, and has not said that the session is over; or it gave no usable answer
 */
export type SessionEnding = "over" | "unsupported" | "unconfirmed"

/** False if the platform cannot be asked. */
const saysOver = (platform: PlatformApi["Service"], campaign: string, sessionId: string): Effect.Effect<boolean> =>
  platform.sessionStatus(campaign, sessionId).pipe(
    Effect.map(({ status }) => status === "over"),
    Effect.orElseSucceed(() => false),
  )

/**
 * Asks the platform to end a session. If it was asked and does not say that the session is over, its state is read.
 *
 * @param what names the session in the log when the platform gives no usable answer
 */
export const endSession = (
  platform: PlatformApi["Service"],
  campaign: string,
  session: WebSession,
  what: string,
): Effect.Effect<SessionEnding> => {
  const [sessionId] = session.sessionIds
  if (sessionId === undefined) return Effect.succeed("unconfirmed")
  const ended = platform.end?.(campaign, session) ?? Effect.succeed("unsupported" as const)
  return ended.pipe(
    Effect.tapError((error) => Effect.logInfo(`${what} was not ended: ${error.message}`)),
    Effect.orElseSucceed(() => false),
    Effect.flatMap((answer): Effect.Effect<SessionEnding> => {
      if (answer === true) return Effect.succeed("over")
      if (answer === "unsupported") return Effect.succeed("unsupported")
      return Effect.map(saysOver(platform, campaign, sessionId), (isOver) => (isOver ? "over" : "unconfirmed"))
    }),
  )
}

/** The same for a session that may have ended by itself: its state is read also where the platform cannot be asked to end it. */
export const endOrFindOver: typeof endSession = (platform, campaign, session, what) =>
  Effect.flatMap(endSession(platform, campaign, session, what), (ending) => {
    const [sessionId] = session.sessionIds
    if (ending !== "unsupported" || sessionId === undefined) return Effect.succeed(ending)
    return Effect.map(saysOver(platform, campaign, sessionId), (isOver) => (isOver ? "over" : ending))
  })
