/**
 * Adds up the metrics of several processes, in the text format of Prometheus. Counters and histograms are added. A gauge of a campaign that
 * every process reads from the shared store, such as the length of its queue, is that of the process which has read it last; any other is
 * the maximum. A gauge of the process itself is added, except its descriptors: each process has a limit of its own, so those of the process with
 * the most are compared with it.
 */

/** Gauges of which each process has its own part. */
const ADDED_GAUGES = new Set([
  "voicegate_connected_tickets",
  "process_resident_memory_bytes",
  "nodejs_heap_size_used_bytes",
])

/** When a process has read the gauges of a campaign. */
const READ_AT = "voicegate_gauges_read_at_seconds"
const READ_LINE: RegExp = new RegExp(`^${READ_AT}{(.*)} (\\S+)$`, "gm")
const campaignIn = (labels: string): string | undefined => /(?:^|[{,])(campaign="(?:[^"\\]|\\.)*")/.exec(labels)?.[1]

/** When the gauges of each campaign were read, by its label. */
const readTimes = (text: string): ReadonlyMap<string, number> =>
  new Map(
    [...text.matchAll(READ_LINE)].map(([, labels = "", time]) => [campaignIn(labels) ?? "", Number(time)] as const),
  )

interface Family {
  /** the lines `# HELP` and `# TYPE` */
  readonly head: Array<string>
  type: string
  /** values by name and labels */
  readonly samples: Map<string, number>
  /** of a gauge of a campaign, when its value was read */
  readonly readAt: Map<string, number>
}

/**
 * @param texts the metrics of each process
 * @param gauges whether gauges are part of the sum; those of a process that has ended mean nothing
 */
export const sumMetrics = (texts: ReadonlyArray<string>, { gauges = true } = {}): string => {
  const families = new Map<string, Family>()
  for (const text of texts) {
    const times = readTimes(text)
    let current: Family | undefined
    let name = ""
    for (const line of text.split("\n")) {
      const [, keyword, family = "", rest = ""] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
      if (keyword !== undefined) {
        name = family
        current = families.get(family) ?? { head: [], type: "", samples: new Map(), readAt: new Map() }
        families.set(family, current)
        if (keyword === "TYPE") current.type = rest
        if (!current.head.includes(line)) current.head.push(line)
        continue
      }
      const end = line.lastIndexOf(" ")
      const value = Number(line.slice(end + 1))
      if (current === undefined || end < 0 || Number.isNaN(value)) continue
      const key = line.slice(0, end)
      const before = current.samples.get(key)
      if (current.type !== "gauge" || ADDED_GAUGES.has(name)) {
        current.samples.set(key, (before ?? 0) + value)
        continue
      }
      const readAt = times.get(campaignIn(key) ?? "") ?? 0
      const lastRead = current.readAt.get(key) ?? 0
      if (before !== undefined && readAt < lastRead) continue
      current.samples.set(key, before === undefined || readAt > lastRead ? value : Math.max(before, value))
      current.readAt.set(key, readAt)
    }
  }
  return [...families.values()]
    .filter(({ type }) => gauges || type !== "gauge")
    .flatMap(({ head, samples }) => [...head, ...[...samples].map(([key, value]) => `${key} ${value}`)])
    .concat("")
    .join("\n")
}
