/** The checks of a soak: each figure with its tolerance and the reason for it. */
import type { GateFigures } from "./gate-process.ts"
import type { Ledger } from "./ledger.ts"
import type { Measured, Sample } from "./measured.ts"
import { missingEvents } from "./required-events.ts"
import type { Structure } from "./store-figures.ts"
import { type Figure, type Judged, judge, judgeTrend } from "./verdict.ts"

const MB = 2 ** 20

/** V8 recompiles hot code repeatedly and keeps feedback: a few MB, independent of the run's length. */
const HEAP_GROWTH = 4 * MB
/** Pages that V8 and malloc keep for the next peak; the trend shows whether growth continues. */
const RSS_GROWTH = 64 * MB
/** A leak of 100 bytes per call exceeds this in the 15,000 calls of half an hour. */
const HEAP_TREND = 1.5 * MB
const RSS_TREND = 16 * MB
/** Buffers of connections. */
const EXTERNAL_GROWTH = 2 * MB
/** Buffers of clients, cached scripts, fragments. */
const REDIS_GROWTH = 2 * MB
/** Limit of session ends that a campaign stores. */
const ENDS_MAX = 100_000
const META_FIELDS_MAX = 19
/** `queue.*` 13, `operator.*` 8, `hub.*` 3, `limits.*` 2. */
const SCRIPTS_MAX = 26
const RING_MAX = 360

/** V8 frees start-up code late, so a lower value in the first samples under load is the baseline. */
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

/** Structures that must be empty at rest. */
const EMPTY_AT_REST: ReadonlyArray<readonly [Structure, string]> = [
  ["waiting", "waiting tickets"],
  ["leases", "held slots"],
  ["live", "running sessions, as counted"],
  ["doubts", "starts in doubt, as counted"],
  ["parked", "tickets whose start failed"],
  ["presence", "present tickets"],
  ["data", "configurations and sessions of tickets"],
  ["sessions", "ids of running sessions"],
  ["settlements", "pending refunds and releases"],
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
  const lastExpiry = (name: string): string => {
    const millis = after.audit.lifetimes[name]
    return millis === undefined ? "" : `; the last one goes in ${(millis / 3_600_000).toFixed(1)} h`
  }
  return [
    ...EMPTY_AT_REST.map(([name, note]) => size(name, 0, note)),
    size("tickets", forgotten ? 0 : after.store.sizes.forget, "deleted ten minutes after their end"),
    size("forget", forgotten ? 0 : Number.POSITIVE_INFINITY, "the same tickets by time of deletion"),
    // each may have been ended by an attempt of its own, which is remembered too
    size("endedSessions", Math.min(ENDS_MAX, 2 * sessionIds), "ids of ended sessions, for 24 h, at most 100,000"),
    size("meta", META_FIELDS_MAX, "fields"),
    size("auditLog", 1_000, "operators' actions"),
    size("ring", RING_MAX, "the console's hour, in buckets of 10 s"),
    same("console: instances", ({ store }) => store.sizes.instances + store.sizes.about),
    keys("unknown", 0, "keys of an unknown kind"),
    keys("campaign", 11, "structures of the one campaign"),
    keys("console", 4, "shared by all instances"),
    {
      name: "tickets that count as open",
      before: before.store.open,
      after: after.store.open,
      allowed: { kind: "at most", limit: 0 },
      note: "of all callers",
    },
    keys("caller refunds", Number.POSITIVE_INFINITY, `one per caller, for an hour${lastExpiry("caller refunds")}`),
    keys("hub token", 0, "for a minute"),
    keys("caller log", Number.POSITIVE_INFINITY, `one per caller, for 24 h${lastExpiry("caller log")}`),
    keys("hub browser", Number.POSITIVE_INFINITY, `one per browser, for 24 h${lastExpiry("hub browser")}`),
    keys("address facts", Number.POSITIVE_INFINITY, `one per address, for 14 days${lastExpiry("address facts")}`),
    { ...same("keys without an expiry that should have one", () => 0), after: after.audit.forEver.length },
    { ...same("keys with a longer lifetime than their kind allows", () => 0), after: after.audit.tooLong.length },
    { ...same("tickets that should have been deleted", () => 0), after: after.audit.overdue },
    same("redis: clients", ({ store }) => store.clients),
    same("redis: channels", ({ store }) => store.channels),
    {
      name: "redis: scripts",
      before: before.store.scripts,
      after: after.store.scripts,
      allowed: { kind: "at most", limit: SCRIPTS_MAX },
      note: "one of each gate",
    },
    {
      name: "redis: memory other than keys",
      before: before.audit.rest,
      after: after.audit.rest,
      allowed: { kind: "growth", by: REDIS_GROWTH },
      unit: "MB",
      note: "without the memory of the keys above, which is freed with them",
    },
  ]
}

const callFigures = ({ after, peak, slots }: Measured, ledger: Ledger): ReadonlyArray<Figure> => [
  { name: "active callers", before: 0, after: after.active, allowed: { kind: "same" } },
  { name: "running calls", before: 0, after: after.running, allowed: { kind: "same" } },
  { name: "peak of concurrent calls", before: 0, after: peak, allowed: { kind: "at most", limit: slots } },
  {
    name: "calls started, all ended",
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
  ...[...callFigures(measured, ledger), ...missingEvents(measured, ledger), ...gateFigures(measured)].map(judge),
  ...trends(measured),
  ...storeFigures(measured).map(judge),
]
