/**
 * Adds up the metrics of several processes, in the text format of Prometheus. Counters and histograms are added. A gauge that every
 * process reads from the shared store, such as the length of a queue, is the maximum; one of the process itself is added.
 */

/** Gauges of which each process has its own part. */
const ADDED_GAUGES = new Set([
  "voicegate_connected_tickets",
  "process_resident_memory_bytes",
  "process_open_fds",
  "nodejs_heap_size_used_bytes",
])

interface Family {
  /** the lines `# HELP` and `# TYPE` */
  readonly head: Array<string>
  type: string
  /** values by name and labels */
  readonly samples: Map<string, number>
}

/**
 * @param texts the metrics of each process
 * @param gauges whether gauges are part of the sum; those of a process that has ended mean nothing
 */
export const sumMetrics = (texts: ReadonlyArray<string>, { gauges = true } = {}): string => {
  const families = new Map<string, Family>()
  for (const text of texts) {
    let current: Family | undefined
    let name = ""
    for (const line of text.split("\n")) {
      const [, keyword, family = "", rest = ""] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? []
      if (keyword !== undefined) {
        name = family
        current = families.get(family) ?? { head: [], type: "", samples: new Map() }
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
      const added = current.type !== "gauge" || ADDED_GAUGES.has(name)
      current.samples.set(key, before === undefined ? value : added ? before + value : Math.max(before, value))
    }
  }
  return [...families.values()]
    .filter(({ type }) => gauges || type !== "gauge")
    .flatMap(({ head, samples }) => [...head, ...[...samples].map(([key, value]) => `${key} ${value}`)])
    .concat("")
    .join("\n")
}
