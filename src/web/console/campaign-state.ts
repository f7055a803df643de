/** The state of a campaign: what it is called, how bad it is, and what it means for callers. */
import type { Hours, Queue, UsedUpBudget, View } from "../../operator/shapes.ts"
import { chosenTime, coming, duration } from "./words.ts"

/**
 * `planned`: callers are turned away because the hours say so. `limited`: an operator has ordered it, or the platform is full. `bad`: callers
 * are not served, and nobody has ordered that.
 */
export type Level = "good" | "planned" | "limited" | "bad"

export interface CampaignState {
  readonly level: Level
  readonly title: string
  /** when that is over by itself (ms since 1970), where it is known */
  readonly until?: number | undefined
  /** what it means for callers */
  readonly meaning: string
}

/** What the state of a campaign depends on, of its queue and beside it. */
export type Served = Pick<
  Queue,
  | "disrupted"
  | "draining"
  | "paused"
  | "pausedUntil"
  | "platform"
  | "probeUntil"
  | "backoffUntil"
  | "resumesAt"
  | "budgets"
>
export type Terms = Pick<View, "hours" | "usedUp">

/** A platform that starts nothing for this long (ms), although it answers, is more than a moment's wait. */
const LASTING_MILLIS = 10_000

/** States of the platform in which callers are not served. */
const BROKEN: ReadonlySet<string> = new Set(["unavailable", "rejected", "webhooks_missing"])

/** Whether the platform serves nobody, whatever an operator has ordered beside that. */
export const isBroken = ({ disrupted, platform }: Pick<Served, "disrupted" | "platform">): boolean =>
  BROKEN.has(platform?.state ?? (disrupted ? "unavailable" : ""))

const refusal = ({ code }: NonNullable<Queue["platform"]>): string => `The platform refuses this campaign (${code}).`

/** What the hours say of a campaign that is closed. */
const closedBy = ({ opensAt, servedUntil }: Hours, now: number): string => {
  const opens = opensAt === undefined ? "It doesn’t open within a year." : `It opens on ${coming(opensAt, now)}.`
  return servedUntil === undefined
    ? `New callers are turned away, and no one waits. ${opens}`
    : `New callers are turned away; waiting callers are served until ${chosenTime(servedUntil)}. ${opens}`
}

const usedUpText = ({ budget, endsCalls, until }: UsedUpBudget, now: number): string =>
  `Too little is left of the budget ${budget} until ${coming(until, now)}. New callers are turned away, and waiting callers when their turn comes.${
    endsCalls ? " Running calls are ended." : ""
  }`

/** Which budgets are waited for, where the gate has named them. */
const awaited = (budgets: ReadonlyArray<string> | undefined): string =>
  budgets === undefined ? "a budget" : `the budget ${budgets.join(" or ")}`

/** What is ordered or does not work beside what the title says, as further sentences. */
const besideOf = (served: Served, end: string): string => {
  const { draining, paused } = served
  const ordered = paused ? ` Calls are paused too.${end}` : draining ? " The campaign is draining too." : ""
  return `${ordered}${outageOf(served)}`
}

const outageOf = ({ disrupted, platform }: Pick<Served, "disrupted" | "platform">): string => {
  if (platform?.state === "rejected") return ` ${refusal(platform)}`
  return disrupted ? " The platform is unreachable." : ""
}

/**
 * The state of a campaign. What the hours say comes first, because nobody would be served anyway; then a used-up budget, which nobody has
 * ordered; then what an operator has ordered, and what the platform does.
 */
export const stateOf = (served: Served, now: number, { hours, usedUp }: Terms = {}): CampaignState => {
  const { budgets, draining, paused, pausedUntil, resumesAt } = served
  const end = pausedUntil === undefined ? "" : ` The pause ends on ${coming(pausedUntil, now)}.`
  const beside = besideOf(served, end)
  if (hours !== undefined && hours.state !== "open") {
    const budget = usedUp === undefined ? "" : ` ${usedUpText(usedUp, now)}`
    return {
      level: "planned",
      title: hours.state === "closed" ? "Closed" : "Closing",
      until: hours.opensAt,
      meaning: `${closedBy(hours, now)}${beside}${budget}`,
    }
  }
  if (usedUp !== undefined) {
    const meaning = `${usedUpText(usedUp, now)}${beside}`
    return { level: "bad", title: "Budget used up", until: usedUp.until, meaning }
  }
  if (resumesAt !== undefined) {
    return {
      level: "bad",
      title: "Waiting for a budget",
      until: resumesAt,
      meaning: `Callers wait because ${awaited(budgets)} is used up: until ${coming(resumesAt, now)}, or until it has more again.${beside}`,
    }
  }
  const outage = outageOf(served)
  if (paused && draining) {
    return {
      level: "limited",
      title: "Paused and draining",
      meaning: `No one is called, and new callers are turned away.${end}${outage}`,
    }
  }
  if (paused) {
    const meaning = `New callers wait; no one is called.${end}${outage}`
    return { level: "limited", title: "Paused", until: pausedUntil, meaning }
  }
  if (draining) {
    return {
      level: "limited",
      title: "Draining",
      meaning: `New callers are turned away; waiting callers are still served.${outage}`,
    }
  }
  return stateOfPlatform(served, now)
}

/** The state of a campaign that takes calls as far as its platform does. */
const stateOfPlatform = ({ backoffUntil, disrupted, platform, probeUntil }: Served, now: number): CampaignState => {
  if (disrupted) {
    const seconds = Math.ceil((Math.max(backoffUntil, probeUntil) - now) / 1000)
    const next = seconds > 0 ? ` The next test is in ${seconds} s.` : ""
    const held = "Everyone keeps their place. Callers are tried one at a time until the platform responds."
    const since = platform === undefined ? "" : ` This has lasted for ${duration(now - platform.since)}.`
    return platform?.state === "rejected"
      ? { level: "bad", title: "Platform refuses calls", meaning: `${refusal(platform)} ${held}${next}${since}` }
      : { level: "bad", title: "Platform unreachable", meaning: `${held}${next}${since}` }
  }
  const seconds = Math.ceil((backoffUntil - now) / 1000)
  const again = seconds > 0 ? ` Trying again in ${seconds} s.` : ""
  if (platform?.state === "webhooks_missing") {
    return {
      level: "bad",
      title: "Webhooks missing",
      meaning: `Calls are taken, but the platform hasn’t reported the end of one for ${duration(now - platform.since)}, so slots come free up to 5 minutes late.${again}`,
    }
  }
  if (platform !== undefined && now - platform.since >= LASTING_MILLIS) {
    const what =
      platform.state === "rate_limited" ? "The platform limits the key’s requests" : "The platform has no free slot"
    return {
      level: "limited",
      title: platform.state === "rate_limited" ? "Requests limited" : "Platform at capacity",
      meaning: `${what}, and no call has started for ${duration(now - platform.since)}. Everyone keeps their place.${again}`,
    }
  }
  return seconds > 0
    ? { level: "good", title: "Backing off", meaning: `The platform is at capacity.${again}` }
    : { level: "good", title: "Taking calls", meaning: "Waiting callers are called as slots become available." }
}

/** How bad it is by itself: a platform that serves nobody is bad whatever is ordered beside it. */
export const levelOf = (served: Served, now: number, terms: Terms): Level => {
  const { level } = stateOf(served, now, terms)
  return level !== "good" && isBroken(served) ? "bad" : level
}
