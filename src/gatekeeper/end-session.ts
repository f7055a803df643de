/** Ends a running session at the platform, for a caller who has left (`end-left.ts`) and for an operator (`operator/end-call.ts`). */
import { Effect } from "effect"
import type { PlatformApi, WebSession } from "../PlatformApi.ts"

/**
 * - `over`: the session is over, and its credential opens no other
 * - `unsupported`: the platform cannot be asked to end it
 * - `unconfirmed`: it was asked, and has not said that the session is over; or it gave no usable answer
 */
export type SessionEnding = "over" | "unsupported" | "unconfirmed"

/**
 * Asks the platform to end a session. If it does not say that the session is over, its state is read.
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
      const otherwise = answer === "unsupported" ? "unsupported" : "unconfirmed"
      return platform.sessionStatus(campaign, sessionId).pipe(
        Effect.map(({ status }) => (status === "over" ? "over" : otherwise)),
        Effect.orElseSucceed(() => otherwise),
      )
    }),
  )
}
