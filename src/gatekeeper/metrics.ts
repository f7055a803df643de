/** The gate's metrics, with their Prometheus names. */

import { Cause, type Context, Effect, Exit, Metric, Record, Struct } from "effect"
import type { PlatformState } from "../fifo-queue/operator/schemas.ts"
import type { IpIntelFailed } from "../ip-intel/facts.ts"
import { type CampaignSeries, campaignSeries } from "../lib/campaign-series.ts"
import { LOSS_REASONS, omittedLines } from "../lib/log-loss.ts"
import { addressLookup, platformRequests } from "../lib/request-metrics.ts"
import { BLOCKS, blockedMessages } from "../protocol/block-reasons.ts"
import { OfferKind } from "../protocol/offers.ts"
import {
  allRefusalOutcomes,
  type Blocked,
  outcomeOf,
  type RefusalOutcome,
  type RequestRefusal,
} from "../protocol/refusals.ts"
import type { Queued, Started } from "../protocol/session-answers.ts"
import { isTerminal, TicketState } from "../protocol/ticket.ts"

const requestsTotal = Metric.counter("voicegate_requests_total", {
  description: "Session requests by outcome",
  incremental: true,
})

const requestCounter = (outcome: string): Metric.Counter<number> => Metric.withAttributes(requestsTotal, { outcome })

/** One counter for each outcome, created once, so that a request needs no lookup. */
export const requests = {
  started: requestCounter("started"),
  queued: requestCounter("queued"),
  ...Record.mapEntries(allRefusalOutcomes, (outcome) => [outcome, requestCounter(outcome)]),
}

const blockedTotal = Metric.counter("voicegate_blocked_total", {
  description: "Session requests refused because of their address",
  incremental: true,
})

/** One counter for each reason; their sum is the number of requests with outcome `blocked`. */
export const blocked = Record.map(blockedMessages, (_, reason) => Metric.withAttributes(blockedTotal, { reason }))

const refusedTotal = Metric.counter("voicegate_refused_total", {
  description: "Refused session requests by campaign and reason; no campaign when the request names none that exists",
  incremental: true,
})

export interface RefusedSeries {
  /** empty when the request names no campaign that exists */
  readonly campaign: string
  readonly reason: RefusalReason
  readonly counter: Metric.Counter<number>
}

/** The outcome of a refusal, or for a blocked request what it was blocked for. */
export type RefusalReason = Exclude<RefusalOutcome, "blocked"> | Blocked["reason"]

export const reasonOf = (error: RequestRefusal): RefusalReason =>
  error._tag === "Blocked" ? error.reason : outcomeOf(error)

const refusedSeriesByName = new Map<string, RefusedSeries>()

/** The campaign is a configured one or empty, never a caller's text, so the series are bounded. */
export const refused = (campaign: string, error: RequestRefusal): Metric.Counter<number> => {
  const reason = reasonOf(error)
  const name = `${reason} ${campaign}`
  const known = refusedSeriesByName.get(name)
  if (known !== undefined) return known.counter
  const counter = Metric.withAttributes(refusedTotal, { campaign, reason })
  refusedSeriesByName.set(name, { campaign, reason, counter })
  return counter
}

/** The series of refused requests that exist so far, by `<reason> <campaign>`. */
export const refusedSeries = (): ReadonlyMap<string, RefusedSeries> => refusedSeriesByName

/** `campaign` is that of a refused request; empty when it names none that exists. Returns why the request was refused. */
export const countRequest = (
  exit: Exit.Exit<Started, RequestRefusal | Queued>,
  campaign: () => string,
  context: Context.Context<never>,
): RequestRefusal | undefined => {
  const count = (outcome: keyof typeof requests): void => requests[outcome].updateUnsafe(1, context)
  if (Exit.isSuccess(exit)) count("started")
  else if (!Cause.hasDies(exit.cause)) {
    const error = exit.cause.reasons.find(Cause.isFailReason)?.error
    if (error?._tag === "Queued") count("queued")
    else if (error !== undefined) {
      count(outcomeOf(error))
      refused(campaign(), error).updateUnsafe(1, context)
      return error
    }
  }
  return undefined
}

/** What a setting of `Security.Shadow` would refuse a request for. */
const SHADOW_REASONS = ["hour", "day", "concurrent", ...Struct.keys(BLOCKS)] as const
export type ShadowReason = (typeof SHADOW_REASONS)[number]
export const isShadowReason = (text: string): text is ShadowReason => SHADOW_REASONS.some((each) => each === text)

const NEAR_LIMITS = ["hour", "day"] as const
type NearLimit = (typeof NEAR_LIMITS)[number]

const shadowRefusedTotal = Metric.counter("voicegate_shadow_refused_total", {
  description: "Session requests that Security.Shadow would have refused, by campaign and reason",
  incremental: true,
})

const nearLimitTotal = Metric.counter("voicegate_near_limit_total", {
  description: "Accepted session requests of callers who have used 80 % of a limit or more, by campaign and limit",
  incremental: true,
})

const shadowSeries = new Map<string, Metric.Counter<number>>()

/** The counter of requests that a setting would have refused. Campaigns are configured ones, so the series are bounded. */
export const shadowRefused = (campaign: string, reason: ShadowReason): Metric.Counter<number> => {
  const name = `${SHADOW_PREFIX}${reason} ${campaign}`
  const counter = shadowSeries.get(name) ?? Metric.withAttributes(shadowRefusedTotal, { campaign, reason })
  shadowSeries.set(name, counter)
  return counter
}

/** The prefix of the reason, in the names of the series and of the console's counts. */
const SHADOW_PREFIX = "shadow."

/** The series of requests that would have been refused, by `shadow.<reason> <campaign>`. */
export const shadowRefusedSeries = (): ReadonlyMap<string, Metric.Counter<number>> => shadowSeries

const nearSeries = new Map<string, Metric.Counter<number>>()

/** The counter of requests whose caller is near a limit. */
export const nearLimit = (campaign: string, limit: NearLimit): Metric.Counter<number> => {
  const name = `${limit} ${campaign}`
  const counter = nearSeries.get(name) ?? Metric.withAttributes(nearLimitTotal, { campaign, limit })
  nearSeries.set(name, counter)
  return counter
}

/** Makes `/metrics` show the zeros of what is watched in these campaigns from the first scrape. */
export const registerWatched = (
  campaigns: ReadonlyArray<string>,
  reasons: ReadonlyArray<ShadowReason>,
): Effect.Effect<void> =>
  Effect.forEach(
    campaigns.flatMap((campaign) => [
      ...NEAR_LIMITS.map((limit) => nearLimit(campaign, limit)),
      ...reasons.map((reason) => shadowRefused(campaign, reason)),
    ]),
    (counter) => Metric.value(counter),
    { discard: true },
  )

/** Why an address was not checked: the provider failed, or did not report a required fact. */
export type UncheckedReason = IpIntelFailed["reason"] | "unknown_fact"

const uncheckedTotal = Metric.counter("voicegate_unchecked_total", {
  description: "Session requests whose address was not checked, by what IpIntel.OnError did and why",
  incremental: true,
})

const uncheckedBy = (outcome: string): Readonly<Record<UncheckedReason, Metric.Counter<number>>> => {
  const counter = (reason: UncheckedReason) => Metric.withAttributes(uncheckedTotal, { outcome, reason })
  return {
    timeout: counter("timeout"),
    unreachable: counter("unreachable"),
    quota: counter("quota"),
    unauthorized: counter("unauthorized"),
    malformed: counter("malformed"),
    circuit_open: counter("circuit_open"),
    budget: counter("budget"),
    network_budget: counter("network_budget"),
    rejected: counter("rejected"),
    refused: counter("refused"),
    unknown_fact: counter("unknown_fact"),
  }
}

/** One counter for each decision of `IpIntel.OnError` and reason. */
export const unchecked = { let_through: uncheckedBy("let_through"), blocked: uncheckedBy("blocked") } as const

const waitSeconds = Metric.histogram("voicegate_wait_seconds", {
  description: "How long tickets waited for their start call",
  boundaries: [1, 2, 3, 5, 8, 12, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700, 3600],
})

/** From a ticket's acceptance to its start call, of tickets that started, in seconds. */
export const waited = campaignSeries((campaign) => Metric.withAttributes(waitSeconds, { campaign }))

const startCallSeconds = Metric.histogram("voicegate_start_call_seconds", {
  description: "How long called tickets took to start",
  boundaries: [0.5, 1, 2, 5, 10, 15, 20, 30, 60],
})

/** From a start call to its caller's start, in seconds. */
export const pickedUp = campaignSeries((campaign) => Metric.withAttributes(startCallSeconds, { campaign }))

const calledTotal = Metric.counter("voicegate_called_total", {
  description: "Tickets called to a free slot",
  incremental: true,
})

/** Tickets called by steps of this instance. */
export const called = campaignSeries((campaign) => Metric.withAttributes(calledTotal, { campaign }))

/** Webhooks by what they did: freed a slot, named an ended call, or named no call of this gate. */
export const WEBHOOK_RESULTS = ["released", "repeat", "unknown"] as const

const overTotal = Metric.counter("voicegate_over_total", {
  description: "Ended tickets by terminal state",
  incremental: true,
})

const overByState = new Map<TicketState, CampaignSeries<Metric.Counter<number>>>()

const overOf = (state: TicketState): CampaignSeries<Metric.Counter<number>> => {
  const series =
    overByState.get(state) ?? campaignSeries((campaign) => Metric.withAttributes(overTotal, { campaign, state }))
  overByState.set(state, series)
  return series
}

/** The series of ended tickets that exist so far, by terminal state. */
export const overSeries = (): ReadonlyMap<TicketState, CampaignSeries<Metric.Counter<number>>> => overByState

/** Tickets ended by steps of this instance, by terminal state. */
export const over = (campaign: string, state: TicketState): Metric.Counter<number> => overOf(state).of(campaign)

/**
 * Webhooks that were not looked up: of a vendor about something else, in a shape that is not documented, and without the right token
 * or signature.
 */
const IGNORED_WEBHOOKS = ["ignored", "malformed", "unauthorized"] as const

export const webhooks = (result: (typeof WEBHOOK_RESULTS | typeof IGNORED_WEBHOOKS)[number]): Metric.Counter<number> =>
  Metric.withAttributes(
    Metric.counter("voicegate_webhooks_total", { description: "session-ended webhooks by result", incremental: true }),
    { result },
  )

/** Connections closed on arrival because their address had reached its limit. */
export const connectionsRefused = Metric.counter("voicegate_connections_refused_total", {
  description: "Connections closed because their address had too many",
  incremental: true,
})

const gauge = (name: string, description: string) => (campaign: string) =>
  Metric.withAttributes(Metric.gauge(name, { description }), { campaign })

export const gauges = {
  waiting: gauge("voicegate_waiting", "Tickets waiting"),
  waitingForBudget: gauge(
    "voicegate_waiting_for_budget",
    "Tickets waiting that are not called before a budget has more: a shared one, or one of their callers",
  ),
  leases: gauge("voicegate_leases", "Slots held"),
  doubts: gauge("voicegate_starts_in_doubt", "Slots held for starts that may have happened"),
  quarantined: gauge("voicegate_quarantined_records", "Invalid records found in the store, in total"),
  closed: gauge(
    "voicegate_queue_closed",
    "1 while Redis refuses what the campaign's rules need, so that nobody is admitted or called, else 0",
  ),
  slots: gauge("voicegate_slots", "Slots of the campaign"),
  readAt: gauge(
    "voicegate_gauges_read_at_seconds",
    "When this process last read the gauges of the campaign (Unix time)",
  ),
}
export type GaugeFigures = Readonly<Record<keyof typeof gauges, number>>

export const setGauges = (campaign: string, figures: Partial<GaugeFigures>): Effect.Effect<void> =>
  Effect.forEach(Struct.keys(figures), (name) => Metric.update(gauges[name](campaign), figures[name] ?? 0), {
    discard: true,
  })

/** Sets all gauges of a campaign to 0, because nothing updates them any more. */
export const clearGauges = (campaign: string): Effect.Effect<void> =>
  Effect.andThen(
    Effect.andThen(setPlatformState(campaign, undefined), clearHours([campaign])),
    Effect.forEach(Object.values(gauges), (gauge) => Metric.update(gauge(campaign), 0), { discard: true }),
  )

/** What the platform of a campaign may be: it works, or why it serves nobody. */
const PLATFORM_STATES = ["ok", "at_capacity", "rate_limited", "unavailable", "rejected", "webhooks_missing"] as const

const platformStateGauge = Metric.gauge("voicegate_platform_state", {
  description: "1 for the state that the campaign's platform is in, 0 for the others",
})
const platformRejectedGauge = Metric.gauge("voicegate_platform_rejected", {
  description: "1 while the platform refuses the campaign, with its code and the setting to check",
})

/** How many codes and settings a campaign's refusals are named by; the platform chooses the codes. */
const MAX_REFUSALS = 20
const refusalsByCampaign = new Map<string, Map<string, Metric.Gauge<number>>>()

const refusalGauge = (campaign: string, code: string, setting: string): Metric.Gauge<number> => {
  const known = refusalsByCampaign.get(campaign) ?? new Map<string, Metric.Gauge<number>>()
  refusalsByCampaign.set(campaign, known)
  const name = `${code} ${setting}`
  const [key, labels] =
    known.has(name) || known.size < MAX_REFUSALS ? [name, { code, setting }] : ["", { code: "(others)", setting: "" }]
  const gauge = known.get(key) ?? Metric.withAttributes(platformRejectedGauge, { campaign, ...labels })
  known.set(key, gauge)
  return gauge
}

/** Undefined while it works. */
export const setPlatformState = (
  campaign: string,
  state: Pick<PlatformState, "state" | "code" | "setting"> | undefined,
): Effect.Effect<void> => {
  const current = state?.state ?? "ok"
  // alerts and dashboards find the metric before the first refusal
  refusalGauge(campaign, "", "")
  const refusal = state?.state === "rejected" ? refusalGauge(campaign, state.code, state.setting) : undefined
  return Effect.andThen(
    Effect.forEach(
      PLATFORM_STATES,
      (each) =>
        Metric.update(Metric.withAttributes(platformStateGauge, { campaign, state: each }), each === current ? 1 : 0),
      { discard: true },
    ),
    Effect.forEach(
      refusalsByCampaign.get(campaign)?.values() ?? [],
      (gauge) => Metric.update(gauge, gauge === refusal ? 1 : 0),
      { discard: true },
    ),
  )
}

/** What the hours of a campaign may say. */
const HOURS_STATES = ["open", "closing", "closed"] as const

const hoursStateGauge = Metric.gauge("voicegate_hours_state", {
  description: "1 for what the campaign's hours say now, 0 for the others; of campaigns with hours",
})
const hoursChangeGauge = Metric.gauge("voicegate_hours_change_at_seconds", {
  description: "When the campaign closes if it is open, else when it opens (Unix time); 0 when that is not known",
})
const withHours = new Set<string>()

/** @param changesAt when it closes or opens next (ms); undefined when that is not known */
export const setHours = (
  campaign: string,
  state: (typeof HOURS_STATES)[number] | undefined,
  changesAt: number | undefined,
): Effect.Effect<void> => {
  withHours.add(campaign)
  return Effect.andThen(
    Effect.forEach(
      HOURS_STATES,
      (each) =>
        Metric.update(Metric.withAttributes(hoursStateGauge, { campaign, state: each }), each === state ? 1 : 0),
      { discard: true },
    ),
    Metric.update(Metric.withAttributes(hoursChangeGauge, { campaign }), (changesAt ?? 0) / 1000),
  )
}

/** Sets the gauges of those campaigns to 0 that had hours. */
export const clearHours = (campaigns: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.forEach(
    campaigns.filter((name) => withHours.has(name)),
    (name) => setHours(name, undefined, undefined),
    { discard: true },
  )

const offeredTotal = Metric.counter("voicegate_offered_total", {
  description: "Callers who were offered something else, by campaign and when",
  incremental: true,
})
const offersTakenTotal = Metric.counter("voicegate_offers_taken_total", {
  description: "Callers who left the queue for something that was offered, by campaign and kind",
  incremental: true,
})

/** When something is offered: while a caller waits, or when one is refused. */
const OFFERED_AT = ["waiting", "queue_full", "closed", "budget_exhausted"] as const
const offeredBy = new Map<(typeof OFFERED_AT)[number], CampaignSeries<Metric.Counter<number>>>(
  OFFERED_AT.map((at) => [at, campaignSeries((campaign) => Metric.withAttributes(offeredTotal, { campaign, at }))]),
)
const takenBy = new Map<OfferKind, CampaignSeries<Metric.Counter<number>>>(
  OfferKind.literals.map((kind) => [
    kind,
    campaignSeries((campaign) => Metric.withAttributes(offersTakenTotal, { campaign, kind })),
  ]),
)
const seriesOf = <K>(of: ReadonlyMap<K, CampaignSeries<Metric.Counter<number>>>, key: K, campaign: string) =>
  of.get(key)?.of(campaign) ?? offeredTotal

export const offered = (campaign: string, at: (typeof OFFERED_AT)[number]): Metric.Counter<number> =>
  seriesOf(offeredBy, at, campaign)
export const offerTaken = (campaign: string, kind: OfferKind): Metric.Counter<number> =>
  seriesOf(takenBy, kind, campaign)

/** All series of what was offered, and of what was taken. */
export const allOffered = (): ReadonlyArray<Metric.Counter<number>> =>
  [...offeredBy.values()].flatMap(({ all }) => all())
export const allOffersTaken = (): ReadonlyArray<Metric.Counter<number>> =>
  [...takenBy.values()].flatMap(({ all }) => all())

/** Makes `/metrics` show the zeros of these campaigns, which offer something. */
export const registerOffers = (campaigns: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.forEach(
    campaigns.flatMap((name) => [
      ...OFFERED_AT.map((at) => offered(name, at)),
      ...OfferKind.literals.map((kind) => offerTaken(name, kind)),
    ]),
    (counter) => Metric.value(counter),
    { discard: true },
  )

const startedTotal = Metric.counter("voicegate_started_total", {
  description: "Sessions that the platform has started, by campaign",
  incremental: true,
})

/** Sessions that this instance has started. */
export const started = campaignSeries((campaign) => Metric.withAttributes(startedTotal, { campaign }))

const unopenedTotal = Metric.counter("voicegate_unopened_total", {
  description: "Sessions ended because nobody had opened them within Queue.OpenSeconds, by campaign",
  incremental: true,
})

/** Sessions that this instance has found unopened. */
export const unopened = campaignSeries((campaign) => Metric.withAttributes(unopenedTotal, { campaign }))

const overrunSeconds = Metric.counter("voicegate_call_overrun_seconds_total", {
  description: "Seconds that calls have run beyond their time limits, as far as the gate knows, by campaign",
  incremental: true,
})

/** Of calls whose end this instance has recorded. */
export const overrun = campaignSeries((campaign) => Metric.withAttributes(overrunSeconds, { campaign }))

const TERMINAL_STATES = TicketState.literals.filter(isTerminal)

/** Every series whose labels are known in advance, so that `/metrics` shows its zero from the first scrape. */
export const register = (campaigns: ReadonlyArray<string>): Effect.Effect<void> => {
  const counters = [
    ...Object.values(requests),
    ...Object.values(blocked),
    ...Object.values(unchecked).flatMap((by) => Object.values(by)),
    ...campaigns.flatMap((name) => [
      called.of(name),
      started.of(name),
      unopened.of(name),
      overrun.of(name),
      ...TERMINAL_STATES.map((state) => over(name, state)),
    ]),
    ...[...WEBHOOK_RESULTS, ...IGNORED_WEBHOOKS].map(webhooks),
    connectionsRefused,
    ...LOSS_REASONS.map(omittedLines),
  ]
  const histograms = [
    addressLookup,
    ...[waited, pickedUp, ...Object.values(platformRequests)].flatMap(({ of }) => campaigns.map(of)),
  ]
  // reading a series registers it
  return Effect.andThen(
    Effect.forEach(counters, (each) => Metric.value(each), { discard: true }),
    Effect.forEach(histograms, (each) => Metric.value(each), { discard: true }),
  )
}
