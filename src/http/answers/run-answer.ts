/** Runs the effect of a request or an upgrade to its answer. */
import { Cause, Effect, Exit } from "effect"
import { type Answer, internalError } from "./answer.ts"

/**
 * Calls back with the answer; undefined means that the connection was taken over, as by an upgrade. A defect is logged and answered with
 * 500.
 */
export type RunAnswer = (
  effect: Effect.Effect<Answer | undefined>,
  requestId: string,
  reply: (answer: Answer | undefined) => void,
) => void

export const makeRunAnswer: Effect.Effect<RunAnswer> = Effect.map(Effect.context<never>(), (context) => {
  const run = Effect.runForkWith(context)
  return (effect, requestId, reply) => {
    run(effect).addObserver((exit) => {
      if (Exit.isSuccess(exit)) return reply(exit.value)
      if (!Cause.hasInterruptsOnly(exit.cause)) {
        run(Effect.annotateLogs(Effect.logError("A request failed", exit.cause), { requestId }))
      }
      reply(internalError)
    })
  }
})
