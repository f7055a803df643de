/** The metrics of tokens and their keys. */
import { Metric, Record } from "effect"
import { identityMessages } from "../protocol/refusals.ts"

const refusedTotal = Metric.counter("voicegate_identity_refused_total", {
  description: "Tokens that were refused, by reason",
  incremental: true,
})

/** One counter for each reason. */
export const refused = Record.map(identityMessages, (_, reason) => Metric.withAttributes(refusedTotal, { reason }))

/** Public keys that tokens can be checked by. */
export const keys = Metric.gauge("voicegate_identity_keys", {
  description: "Usable keys of Identity.JwksUrl; 0 while none is known",
})

const keyReadsTotal = Metric.counter("voicegate_identity_key_reads_total", {
  description: "Reads of Identity.JwksUrl, by result",
  incremental: true,
})

export const keyReads = {
  ok: Metric.withAttributes(keyReadsTotal, { result: "ok" }),
  failed: Metric.withAttributes(keyReadsTotal, { result: "failed" }),
}
