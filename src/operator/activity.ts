/**
 * The activity of an instance, for the console: every two seconds it lists the instance, adds its counts to the shared charts and what it has
 * seen of callers to the shared lists, and learns which addresses are blocked; every ten seconds it adds to the history of its campaigns.
 */
import { Context, Effect, Option, Schema, type Scope, Semaphore } from "effect"
import { runEvery } from "../gatekeeper/background/run-every.ts"
import type { Internals } from "../gatekeeper/Internals.ts"
import { PushChannel } from "../push-channel/PushChannel.ts"
import { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import type { CallersStore, KnownBlocks } from "./callers.ts"
import { type Counts, makeCounts, splitCounts } from "./counts.ts"
import type { History } from "./history.ts"
import { type HistoryCounting, makeHistoryCounting } from "./history-counts.ts"
import type { Activity, Instances } from "./instances.ts"
import { type Instance, type RefusedRequest, SILENT_MILLIS } from "./shapes.ts"

const REPORT_MILLIS = 2_000
/** A store that does not answer delays the stop of an instance by at most this long (ms). */
const LEAVE_MILLIS = 1_000

const About = Schema.fromJsonString(
  Schema.Struct({
    host: Schema.String,
    startedAt: Schema.Finite,
    connections: Schema.Finite,
    /** whether it takes itself off the list when it stops; absent in an earlier release, which does not */
    leaves: Schema.optionalKey(Schema.Boolean),
  }),
)
const encodeAbout = Schema.encodeSync(About)
const decodeAbout = Schema.decodeUnknownOption(About)

/** So many instances that are silent are shown: one that dies again and again leaves many. */
const SILENT_MAX = 10

/** `leaves`: it takes itself off the list when it stops. */
export interface ListedInstance extends Instance {
  readonly leaves?: boolean
}

/**
 * The listed instances, with the description from their last report; of those that are silent, the latest.
 *
 * @param now the store's time (ms since 1970)
 */
export const instancesOf = ({ instances }: Activity, now: number): ReadonlyArray<ListedInstance> => {
  const byLastReport = instances.toSorted((a, b) => a.seenAt - b.seenAt)
  const silent = byLastReport.findLastIndex(({ seenAt }) => now - seenAt >= SILENT_MILLIS) + 1
  return byLastReport.slice(Math.max(0, silent - SILENT_MAX)).map(({ about, id, seenAt }) => ({
    id,
    seenAt,
    ...Option.getOrElse(decodeAbout(about), () => ({ host: "", startedAt: 0, connections: 0 })),
  }))
}

/** What reports tell of this process, since its start. */
export interface ProcessActivity {
  readonly counts: Counts
  readonly history: HistoryCounting
  /** ms since 1970 */
  readonly startedAt: number
  /** how many operators of this process send reports: two while a reload replaces one by the next */
  readonly reporters: { count: number }
  /** Runs one effect at a time. */
  readonly alone: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const makeProcessActivity: Effect.Effect<ProcessActivity, never, Store> = Effect.gen(function* () {
  const alone = Semaphore.makeUnsafe(1).withPermits(1)
  return {
    counts: yield* makeCounts,
    history: yield* makeHistoryCounting,
    startedAt: yield* (yield* Store).now,
    reporters: { count: 0 },
    alone,
  }
})

/** The activity of a process in which a reload replaces the operator, so that nothing is counted twice or not at all. */
export const SharedActivity = Context.Reference<ProcessActivity | undefined>("voicegate/operator/SharedActivity", {
  defaultValue: () => undefined,
})

/** Where reports go. */
interface Reports {
  readonly instances: Instances
  readonly callers: CallersStore
  readonly history: History
}

/** Tells this instance which addresses are blocked. */
export const learnBlocks = (
  watch: Internals["Service"]["watch"],
  known: { version: number },
  { blocks = [], version }: KnownBlocks,
): void => {
  if (version === known.version) return
  known.version = version
  watch?.setBlocks(blocks)
}

/** Adds what was seen of callers since the last report. What the store does not accept is lost. */
const reportCallers = (
  { names, watch }: Pick<Internals["Service"], "names" | "watch">,
  instance: string,
  callers: CallersStore,
  known: { version: number },
) => {
  let number = 0
  return Effect.gen(function* () {
    if (watch === undefined) return
    if (names.ready !== undefined) yield* names.ready
    const now = yield* (yield* Store).now
    watch.expire(now)
    const { latest, ...seen } = watch.take()
    const refusals = latest.map((each): RefusedRequest => {
      number++
      return { ...each, at: now, by: `${instance} ${number}` }
    })
    learnBlocks(watch, known, yield* callers.report({ ...seen, latest: refusals, knows: known.version }))
  })
}

/**
 * Sends reports until the scope closes, and then takes the instance off the list. Counts that the store has not accepted are sent again with
 * the next report.
 * @param known the version of the blocks that this instance knows
 */
export const sendActivity = (
  { callers, history: kept, instances }: Reports,
  internals: Pick<Internals["Service"], "campaigns" | "instance" | "names" | "watch">,
  known: { version: number },
): Effect.Effect<void, never, PushChannel | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const push = yield* PushChannel
    const store = yield* Store
    const { host, id } = internals.instance
    const campaigns = internals.campaigns.all.map(({ name }) => name)
    const reportSeen = Effect.provideService(reportCallers(internals, id, callers, known), Store, store)
    const { alone, counts, history, reporters, startedAt } = (yield* SharedActivity) ?? (yield* makeProcessActivity)
    const report = Effect.gen(function* () {
      const connections = (yield* push.tickets).length
      const pending = yield* counts.pending
      const split = splitCounts(pending)
      yield* instances.report(
        id,
        encodeAbout({ host, startedAt, connections, leaves: true }),
        split.counts,
        split.refusals,
      )
      counts.acknowledge(pending)
      yield* reportSeen
      for (const part of history.parts()) {
        yield* kept.add(id, part)
        history.accepted(part)
      }
    })
    const count = Effect.gen(function* () {
      yield* history.sample(campaigns)
      yield* history.close(yield* store.now, aheadOf(store), campaigns)
    })
    // the operator that this one replaces may send one too, and is closed at any moment
    const once = alone(Effect.uninterruptible(Effect.andThen(count, report)))
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        reporters.count++
      }),
      () =>
        Effect.suspend(() => {
          reporters.count--
          return reporters.count > 0 ? Effect.void : Effect.ignore(Effect.timeout(instances.leave(id), LEAVE_MILLIS))
        }),
    )
    yield* runEvery(REPORT_MILLIS, "heartbeat of the console", once, { atOnce: true })
  })
