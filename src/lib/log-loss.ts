/** Counts the lines of the log that were not written, by why. */
import { Context, Effect, Metric } from "effect"

/**
 * `refusals`, `requests`, `tickets`: more lines than their limit. `backlog`: the reader of the output is too slow. `unwritable`: the output
 * refused them, such as a full disk or a closed pipe.
 */
export const LOSS_REASONS = ["refusals", "requests", "tickets", "backlog", "unwritable"] as const
export type LossReason = (typeof LOSS_REASONS)[number]

const omittedTotal = Metric.counter("voicegate_log_lines_omitted_total", {
  description: "Lines of the log that were not written, by why",
  incremental: true,
})

export const omittedLines = (reason: LossReason): Metric.Counter<number> =>
  Metric.withAttributes(omittedTotal, { reason })

const counters = new Map(LOSS_REASONS.map((reason) => [reason, omittedLines(reason)]))
const context = Context.empty()

/** For places that run no effects. */
export const noteOmittedUnsafe = (reason: LossReason, lines: number): void =>
  counters.get(reason)?.updateUnsafe(lines, context)

export const noteOmitted = (reason: LossReason, lines: number): Effect.Effect<void> =>
  Effect.sync(() => noteOmittedUnsafe(reason, lines))
