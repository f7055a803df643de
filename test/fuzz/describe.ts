/** A run in words and figures. */
import type { Memory } from "./inspected.ts"
import type { Report, Sample } from "./run.ts"

/** Memory grows while caches fill and code is compiled; it is judged from this part of a run on. */
const WARM = 0.3

/** Bytes a request by which a figure grows, by least squares. */
export const slopeOf = (samples: ReadonlyArray<Sample>, figure: (sample: Sample) => number): number => {
  const last = samples.at(-1)?.sent ?? 0
  const warm = samples.filter(({ sent }) => sent >= last * WARM)
  const mean = (of: (sample: Sample) => number) => warm.reduce((sum, each) => sum + of(each), 0) / warm.length
  const x = mean(({ sent }) => sent)
  const y = mean(figure)
  const spread = warm.reduce((sum, each) => sum + (each.sent - x) ** 2, 0)
  const together = warm.reduce((sum, each) => sum + (each.sent - x) * (figure(each) - y), 0)
  return spread === 0 ? 0 : together / spread
}

const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(1).padStart(7)

const counts = (of: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...of].sort(([a], [b]) => a.localeCompare(b)).map(([name, n]) => `  ${String(n).padStart(9)}  ${name}`)

const memory = ({ samples }: Report, of: "gate" | "platform"): ReadonlyArray<string> => {
  const figures: ReadonlyArray<keyof Memory> = ["rss", "heap", "external"]
  return figures.map((figure) => {
    const at = (sample: Sample | undefined) => mebi(sample?.[of][figure] ?? Number.NaN)
    const warm = samples.find(({ sent }) => sent >= (samples.at(-1)?.sent ?? 0) * WARM)
    const slope = slopeOf(samples, (sample) => sample[of][figure])
    return `  ${of.padEnd(8)} ${figure.padEnd(8)} ${at(samples[0])} at first, ${at(warm)} warm, ${at(samples.at(-1))} at last; ${slope.toFixed(2)} bytes a request after warm-up`
  })
}

export const describe = (report: Report): string => {
  const { answers, byKind, byStatus, descriptors, findings, logLines, seconds, seed, sent } = report
  return [
    `${sent} requests of seed ${seed} in ${seconds.toFixed(0)} s (${Math.round(sent / seconds)} a second), ${answers} answers, ${logLines} lines of log`,
    "sent, by kind:",
    ...counts(byKind),
    "answered, by status and code:",
    ...counts(byStatus),
    "memory in MiB, each time after a full collection:",
    ...memory(report, "gate"),
    ...memory(report, "platform"),
    `descriptors before and after: gate ${descriptors.gate.join(" and ")}, platform ${descriptors.platform.join(" and ")}`,
    findings.length === 0 ? "nothing was wrong" : `${findings.length} WRONG (at most 50 are kept):`,
    ...findings.map(({ case: n, detail, what }) => `--- ${n === undefined ? "" : `case ${n}: `}${what}\n${detail}`),
  ].join("\n")
}
