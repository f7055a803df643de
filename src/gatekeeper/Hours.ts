/**
 * The hours of each campaign: whether it is open, when that changes, the refusal of newcomers while it is closed or would be before their
 * turn, and what a sweep is told. A campaign without hours costs nothing.
 *
 * Whoever asks says the store's time; the hours go by the time of day, and so does what they answer, except to a sweep, whose rule compares
 * it with the store's time.
 */
import { Context, type DateTime, Effect, Layer } from "effect"
import type { Swept } from "../fifo-queue/FifoQueue.ts"
import type { HoursNow } from "../fifo-queue/inputs.ts"
import { type Opening, schedule } from "../lib/opening-hours/schedule.ts"
import { timeInWords } from "../lib/opening-hours/words.ts"
import { type Offer, withOffers } from "../protocol/offers.ts"
import { type Closed, closed } from "../protocol/refusals.ts"
import { isoTime } from "../protocol/session-answers.ts"
import { openingHoursOf } from "../settings/groups/hours.ts"
import type { Campaign } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import { Campaigns } from "./Campaigns.ts"
import { ExpectedWaits } from "./ExpectedWaits.ts"
import * as metrics from "./metrics.ts"

/**
 * What holds now (times in ms since 1970). `closing`: newcomers are refused, and those who wait are still served until `servedUntil`.
 * `opensAt` is absent when that is not within a year, `closesAt` when that is not soon.
 */
export type HoursState =
  | { readonly state: "open"; readonly closesAt?: number }
  | { readonly state: "closing"; readonly opensAt?: number; readonly servedUntil: number }
  | { readonly state: "closed"; readonly opensAt?: number }

export class Hours extends Context.Service<
  Hours,
  {
    /** Undefined for a campaign that is always open. `now` is the store's time, here and below (ms since 1970). */
    readonly stateOf: (campaign: Campaign, now: number) => HoursState | undefined
    /** Why a newcomer is refused; undefined for one who may come in. */
    readonly refusal: (
      campaign: Campaign,
      now: number,
      offers?: () => ReadonlyArray<Offer> | undefined,
    ) => Closed | undefined
    /** What a sweep is told: in the store's time. `openElsewhere`: a gate that knows no hours serves the campaign too. */
    readonly told: (campaign: Campaign, now: number, openElsewhere: boolean) => HoursNow
    /** After each sweep, of what it has found: shows the state, and logs a change. */
    readonly swept: (campaign: Campaign, found: Pick<Swept, "servedUntil">, now: number) => Effect.Effect<void>
  }
>()("voicegate/gatekeeper/Hours") {}

/** When somebody is told to try again who is not told when it opens (s). */
const RETRY_SECONDS = 86_400

const NONE: HoursNow = { _tag: "none" }

interface Known {
  readonly openingAt: (now: number) => Opening
  /** the same for times after the next change: each remembers what it found last, and newcomers ask both */
  readonly laterAt: (time: number) => Opening
  readonly servedMillis: number
  readonly zone: DateTime.TimeZone
  /** until when those who wait are served, as a sweep has found: later than by the hours alone after a reload (ms); 0 when nobody waits */
  servedUntil: number
  /** what was logged last */
  logged: HoursState["state"] | undefined
}

const stateIn = ({ openingAt, servedMillis, servedUntil: found }: Known, now: number): HoursState => {
  const { isOpen, since = 0, until } = openingAt(now)
  if (isOpen) return { state: "open", ...(until === undefined ? {} : { closesAt: until }) }
  const opensAt = until === undefined ? {} : { opensAt: until }
  const servedUntil = Math.max(since + servedMillis, found)
  return now < servedUntil ? { state: "closing", ...opensAt, servedUntil } : { state: "closed", ...opensAt }
}

/** When it opens next (ms): after it has closed, if it is open. */
const nextOpening = ({ laterAt, openingAt }: Known, now: number): number | undefined => {
  const { isOpen, until } = openingAt(now)
  return isOpen && until !== undefined ? laterAt(until).until : until
}

/** @param isOpen it is open, and closes before the caller's turn would come */
const refusalAt = (
  isOpen: boolean,
  opensAt: number | undefined,
  now: number,
  zone: DateTime.TimeZone,
  offers: ReadonlyArray<Offer> | undefined,
): Closed => {
  const what = isOpen ? "We close before your turn would come." : "We're closed."
  return closed(
    opensAt === undefined
      ? { retryAfterSeconds: RETRY_SECONDS, message: what, ...withOffers(offers) }
      : {
          opensAt: isoTime(opensAt),
          retryAfterSeconds: Math.max(1, Math.ceil((opensAt - now) / 1000)),
          message: `${what} We open on ${timeInWords(opensAt, zone)}.`,
          ...withOffers(offers),
        },
  )
}

const lineOf = (name: string, state: HoursState, { zone }: Known): string => {
  const opens =
    state.state === "open"
      ? ""
      : state.opensAt === undefined
        ? " It does not open within a year: check its Hours."
        : ` It opens on ${timeInWords(state.opensAt, zone)}.`
  switch (state.state) {
    case "open":
      return `Campaign ${name} is open by its hours.`
    case "closing":
      return `Campaign ${name} has closed by its hours: nobody new is let in, and those who wait are served until ${timeInWords(state.servedUntil, zone)}.${opens}`
    case "closed":
      return `Campaign ${name} is closed by its hours: nobody is let in, and nobody waits.${opens}`
  }
}

export const layer: Layer.Layer<Hours, never, Campaigns | ExpectedWaits | Store> = Layer.effect(
  Hours,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const waits = yield* ExpectedWaits
    const store = yield* Store
    const known = new Map<Campaign, Known>()
    for (const campaign of campaigns.all) {
      if (campaign.Hours === undefined) continue
      const hours = openingHoursOf(campaign.Hours)
      known.set(campaign, {
        openingAt: schedule(hours),
        laterAt: schedule(hours),
        servedMillis: campaign.Hours.AfterCloseMinutes * 60_000,
        zone: hours.zone,
        servedUntil: 0,
        logged: undefined,
      })
    }
    // those that a reload has taken the hours from
    yield* metrics.clearHours(campaigns.all.flatMap((campaign) => (known.has(campaign) ? [] : [campaign.name])))

    const stateOf: Hours["Service"]["stateOf"] = (campaign, now) => {
      const hours = known.get(campaign)
      return hours && stateIn(hours, now + aheadOf(store))
    }
    return {
      stateOf,
      refusal: (campaign, at, offers) => {
        const hours = known.get(campaign)
        if (hours === undefined) return undefined
        const now = at + aheadOf(store)
        const { isOpen, until } = hours.openingAt(now)
        const isInTime = until === undefined || now + (waits.secondsOf(campaign) ?? 0) * 1000 <= until
        return isOpen && isInTime ? undefined : refusalAt(isOpen, nextOpening(hours, now), now, hours.zone, offers?.())
      },
      told: (campaign, now, openElsewhere) => {
        const hours = known.get(campaign)
        if (hours === undefined) return NONE
        const ahead = aheadOf(store)
        const { isOpen, since = 0 } = hours.openingAt(now + ahead)
        if (isOpen) return { _tag: "open" }
        const closed = { _tag: "closed", since: since - ahead, servedMillis: hours.servedMillis } as const
        return openElsewhere ? { ...closed, openElsewhere } : closed
      },
      swept: (campaign, { servedUntil }, now) => {
        const hours = known.get(campaign)
        if (hours === undefined) return Effect.void
        const ahead = aheadOf(store)
        hours.servedUntil = servedUntil === undefined ? 0 : servedUntil + ahead
        const state = stateIn(hours, now + ahead)
        const shown = metrics.setHours(
          campaign.name,
          state.state,
          state.state === "open" ? state.closesAt : state.opensAt,
        )
        if (state.state === hours.logged) return shown
        hours.logged = state.state
        const line = lineOf(campaign.name, state, hours)
        const isForGood = state.state !== "open" && state.opensAt === undefined
        return Effect.andThen(shown, isForGood ? Effect.logWarning(line) : Effect.logInfo(line))
      },
    }
  }),
)
