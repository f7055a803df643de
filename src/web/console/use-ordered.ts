/** Reads who has ordered that a campaign is paused or draining, from its activity log. */
import { useState } from "preact/hooks"
import type { AuditLog } from "../../operator/shapes.ts"
import type { Client } from "./client.ts"
import { type Ordered, orderedText } from "./ordered-words.ts"
import { usePolling } from "./polling.ts"

const EVERY_MILLIS = 10_000
/** How far back it is looked for. */
const LINES = 20

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
