/** Who has ordered that a campaign is paused or draining, and when: the newest such line of its activity log. */
import type { AuditLine } from "../../operator/shapes.ts"
import { moment } from "./words.ts"

export interface Ordered {
  readonly paused: boolean
  readonly draining: boolean
}

/** A sentence for each state that an operator has ordered; empty where the lines do not have it. */
export const orderedText = (
  lines: ReadonlyArray<Pick<AuditLine, "action" | "at" | "result" | "who">>,
  { draining, paused }: Ordered,
  now: number,
): string => {
  const sentence = (action: "pause" | "drain", what: string): string => {
    const line = lines.find((each) => each.action === action && each.result === "done")
    return line === undefined ? "" : `${what} by ${line.who} at ${moment(line.at, now)}.`
  }
  return [paused ? sentence("pause", "Paused") : "", draining ? sentence("drain", "Set to drain") : ""]
    .filter((text) => text !== "")
    .join(" ")
}
