/** Who has ordered that a campaign is paused or draining, and when: the newest such line of its activity log. */
import { useState } from "preact/hooks"
import type { AuditLine, AuditLog } from "../../operator/shapes.ts"
import type { Client } from "./client.ts"
import { usePolling } from "./polling.ts"
import { moment } from "./words.ts"

const EVERY_MILLIS = 10_000
/** How far back it is looked for. */
const LINES = 20

interface Ordered {
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

/** What `orderedText` says of the campaign that is shown; asks only while something is ordered. */
export const useOrdered = (
  client: Client,
  campaign: string,
  queue: Ordered | undefined,
  now: number,
  refresh: number,
): string => {
  const [log, setLog] = useState<{ readonly of: string; readonly page: AuditLog }>()
  const isOrdered = queue?.paused === true || queue?.draining === true
  usePolling(
    async () =>
      isOrdered
        ? { of: campaign, page: await client.auditLog(campaign, 0, LINES, "actions") }
        : await new Promise<never>(() => {}),
    EVERY_MILLIS,
    [client, campaign, queue?.paused, queue?.draining, refresh],
    setLog,
    // the console's own view reports a problem
    () => {},
  )
  return queue === undefined || log?.of !== campaign ? "" : orderedText(log.page.lines, queue, now)
}
