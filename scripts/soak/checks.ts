/** What is asked of a soak, figure by figure, with the tolerance of each and why it has one. */
import type { GateFigures } from "./gate-process.ts"
import type { Ledger } from "./ledger.ts"
import type { Measured, Sample } from "./measured.ts"
import { unseen } from "./seen.ts"
import type { Structure } from "./store-figures.ts"
import { type Figure, type Judged, judge, judgeTrend } from "./verdict.ts"

const MB = 2 ** 20

/** Code that runs hot for an hour is compiled again and again, and its feedback kept: some MB, however long the run. */
const HEAP_GROWTH = 4 * MB
/** Pages that V8 and malloc keep for the next peak; the trend says whether it goes on. */
const RSS_GROWTH = 64 * MB
/** A leak of 100 bytes a call shows as more than this in half an hour's 15,000 calls. */
const HEAP_TREND = 1.5 * MB
const RSS_TREND = 16 * MB
/** Buffers of connections that come and go. */
const EXTERNAL_GROWTH = 2 * MB
/** Buffers of clients, cached scripts, fragments. */
const REDIS_GROWTH = 2 * MB
/** The most ends that a campaign remembers. */
const ENDS_MAX = 100_000
const META_FIELDS_MAX = 19
/** `queue.*` 13, `operator.*` 8, `hub.*` 3, `limits.*` 2. */
const SCRIPTS_MAX = 26
const RING_MAX = 360

/** Code that only a start needs is let go of late: what is less under the first load is what to come back to. */
const EARLY_SAMPLES = 5

const gateFigures = ({ after, before, series }: Measured): ReadonlyArray<Figure> =>
  before.gates.flatMap((was, i) => {
    const is = after.gates[i]
    if (is === undefined) return []
    const figure = (name: keyof GateFigures, more: Pick<Figure, "allowed" | "note" | "unit">): Figure => ({
      name: `gate ${"AB"[i]}: ${name}`,
      before: was[name],
      after: is[name],
      ...more,
    })
    const growth = (by: number): Pick<Figure, "allowed" | "unit"> => ({ allowed: { kind: "growth", by }, unit: "MB" })
    const same = { allowed: { kind: "same" } } as const
    return [
      {
        ...figure("heapUsed", growth(HEAP_GROWTH)),
        before: Math.min(
          was.heapUsed,
          ...series.slice(0, EARLY_SAMPLES).map(({ gates }) => gates[i]?.heapUsed ?? was.heapUsed),
        ),
      },
      figure("external", growth(EXTERNAL_GROWTH)),
      figure("rss", growth(RSS_GROWTH)),
      figure("sockets", same),
      figure("files", same),
      figure("timers", same),
      figure("resources", same),
      figure("listeners", same),
    ]
  })

/** Structures that must be empty when nobody calls, and those with a bound. */
const EMPTY: ReadonlyArray<readonly [Structure, string]> = [
  ["waiting", "tickets that wait"],
  ["leases", "slots that are held"],
  ["live", "sessions that run, as counted"],
  ["doubts", "starts in doubt, as counted"],
  ["parked", "tickets whose start failed"],
  ["presence", "who is present"],
  ["data", "configurations and sessions of tickets"],
  ["sessions", "ids of running sessions"],
  ["settlements", "what the rate limiter owes"],
]

const storeFigures = ({ after, before, forgotten, sessionIds }: Measured): ReadonlyArray<Figure> => {
  const size = (name: Structure, limit: number, note: string): Figure => ({
    name: `campaign: ${name}`,
    before: before.store.sizes[name],
    after: after.store.sizes[name],
    allowed: { kind: "at most", limit },
    note,
  })
  const keys = (name: string, limit: number, note: string): Figure => ({
    name: `keys: ${name}`,
    before: before.store.keys[name] ?? 0,
    after: after.store.keys[name] ?? 0,
    allowed: { kind: "at most", limit },
    note,
  })
  const same = (name: string, of: (sample: Sample) => number): Figure => ({
    name,
    before: of(before),
    after: of(after),
    allowed: { kind: "same" },
  })
  const lives = (name: string): string => {
    const millis = after.audit.lifetimes[name]
    return millis === undefined ? "" : `; the last one goes in ${(millis / 3_600_000).toFixed(1)} h`
  }
  return [
    ...EMPTY.map(([name, note]) => size(name, 0, note)),
    size("tickets", forgotten ? 0 : after.store.sizes.forget, "forgotten ten minutes after they are over"),
    size("forget", forgotten ? 0 : Number.POSITIVE_INFINITY, "the same tickets by that time"),
    size("endedSessions", Math.min(ENDS_MAX, sessionIds), "ids of ended sessions, for 24 h, at most 100,000"),
    size("meta", META_FIELDS_MAX, "fields"),
    size("auditLog", 1_000, "what operators did"),
    size("ring", RING_MAX, "the console's hour, in buckets of 10 s"),
    same("console: instances", ({ store }) => store.sizes.instances + store.sizes.about),
    keys("unknown", 0, "keys of no known kind"),
    keys("campaign", 11, "structures of the one campaign"),
    keys("console", 3, "of all instances together"),
    {
      name: "tickets that count as open",
      before: before.store.open,
      after: after.store.open,
      allowed: { kind: "at most", limit: 0 },
      note: "of any caller",
    },
    keys("caller refunds", Number.POSITIVE_INFINITY, `one a caller, for an hour${lives("caller refunds")}`),
    keys("hub token", 0, "for a minute"),
    keys("caller log", Number.POSITIVE_INFINITY, `one a caller, for 24 h${lives("caller log")}`),
    keys("hub browser", Number.POSITIVE_INFINITY, `one a browser, for 24 h${lives("hub browser")}`),
    keys("address facts", Number.POSITIVE_INFINITY, `one an address, for 14 days${lives("address facts")}`),
    { ...same("keys that would stay for ever", () => 0), after: after.audit.forEver.length },
    { ...same("keys that stay longer than their kind may", () => 0), after: after.audit.tooLong.length },
    { ...same("tickets that should be forgotten", () => 0), after: after.audit.overdue },
    same("redis: clients", ({ store }) => store.clients),
    same("redis: channels", ({ store }) => store.channels),
    {
      name: "redis: scripts",
      before: before.store.scripts,
      after: after.store.scripts,
      allowed: { kind: "at most", limit: SCRIPTS_MAX },
      note: "each of the gates' own, once",
    },
    {
      name: "redis: memory besides keys",
      before: before.audit.rest,
      after: after.audit.rest,
      allowed: { kind: "growth", by: REDIS_GROWTH },
      unit: "MB",
      note: "what the keys above take is theirs and goes with them",
    },
  ]
}

const callFigures = ({ after, peak, slots }: Measured, ledger: Ledger): ReadonlyArray<Figure> => [
  { name: "callers that are not done", before: 0, after: after.active, allowed: { kind: "same" } },
  { name: "calls that run", before: 0, after: after.running, allowed: { kind: "same" } },
  { name: "most calls at once", before: 0, after: peak, allowed: { kind: "at most", limit: slots } },
  {
    name: "calls started, all of them ended",
    before: ledger.of("calls started"),
    after: ledger.of("calls ended"),
    allowed: { kind: "same" },
  },
  ...[...ledger.problems].map(
    ([kind, { times }]): Figure => ({ name: kind, before: 0, after: times, allowed: { kind: "same" } }),
  ),
]

const trends = ({ series }: Measured): ReadonlyArray<Judged> =>
  (["A", "B"] as const).flatMap((name, i) => {
    const points = (figure: "heapUsed" | "rss") =>
      series.map(({ gates, minute }) => ({ minute, value: gates[i]?.[figure] ?? Number.NaN }))
    return [
      judgeTrend(`gate ${name}: heapUsed grows under load`, points("heapUsed"), HEAP_TREND, "MB"),
      judgeTrend(`gate ${name}: rss grows under load`, points("rss"), RSS_TREND, "MB"),
    ].flatMap((judged) => judged ?? [])
  })

export const judgeAll = (measured: Measured, ledger: Ledger): ReadonlyArray<Judged> => [
  ...[...callFigures(measured, ledger), ...unseen(measured, ledger), ...gateFigures(measured)].map(judge),
  ...trends(measured),
  ...storeFigures(measured).map(judge),
]
