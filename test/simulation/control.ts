/** What is controlled in a history: in every fourth one or so something is. */
import { keyed } from "../harness/chance.ts"
import { budgetActions, budgetsOf } from "./budgets.ts"
import { BEGIN } from "./kernel.ts"
import type {
  Action,
  ControlPlan,
  HoursPlan,
  LengthsPlan,
  OverflowPlan,
  PlatformScript,
  TokenPlan,
  VendorPlan,
} from "./plan.ts"
import { CAMPAIGNS } from "./settings.ts"

const pickBy = <A>(hash: number, from: readonly [A, ...ReadonlyArray<A>]): A => from[hash % from.length] ?? from[0]

/** The name leaves the histories of `corners.json` as they were. */
const isControlled = (seed: number): boolean => keyed(seed, "controlled 4194") % 3 === 0

/** Whether a part of it is on. */
const has = (seed: number, part: string): boolean => isControlled(seed) && keyed(seed, `control ${part}`) % 2 === 0

const MINUTE_MILLIS = 60_000
/** How long after the beginning the minute is over in which histories begin (ms). */
const MINUTE_OVER_MILLIS = MINUTE_MILLIS - (BEGIN % MINUTE_MILLIS)

/** The time of day in UTC, some minutes after that (hh:mm). */
const timeAfter = (minutes: number): string =>
  new Date(BEGIN + MINUTE_OVER_MILLIS + minutes * MINUTE_MILLIS).toISOString().slice(11, 16)

const hoursOf = (seed: number): HoursPlan => {
  const afterCloseMinutes = pickBy(keyed(seed, "after close"), [0, 0, 1, 2] as const)
  if (keyed(seed, "hours added") % 2 === 0) {
    // closed an hour ago
    return { open: [`Daily 00:00-${timeAfter(-60)}`], afterCloseMinutes, closesAt: -60 * MINUTE_MILLIS, added: true }
  }
  const again = pickBy(keyed(seed, "opens after"), [0, 0, 1, 3])
  return {
    open: [again === 0 ? `Daily 00:00-${timeAfter(0)}` : `Daily 00:00-${timeAfter(0)}, ${timeAfter(again)}-24:00`],
    afterCloseMinutes,
    closesAt: MINUTE_OVER_MILLIS,
    ...(again === 0 ? {} : { opensAt: MINUTE_OVER_MILLIS + again * MINUTE_MILLIS }),
    added: false,
  }
}

const lengthsOf = (seed: number): LengthsPlan => {
  const callSeconds = pickBy(keyed(seed, "call seconds"), [undefined, 5, 14, 75, 130])
  return {
    ...(callSeconds === undefined ? {} : { callSeconds }),
  }
}

const vendorOf = (seed: number): VendorPlan => ({
  control: pickBy(keyed(seed, "vendor"), ["endable", "endable", "endable", "bounded", "unbounded"] as const),
  ends: pickBy(keyed(seed, "ends"), ["confirmed", "confirmed", "silent", "unconfirmed"] as const),
})

/** In every sixth history something is offered; the name leaves most recorded histories as they were. */
const hasOverflow = (seed: number): boolean => keyed(seed, "overflow 27833") % 6 === 0

/** What is offered; other campaigns only where they have callers. */
const overflowOf = (seed: number, hasAccount: boolean): OverflowPlan => {
  const number = { kind: "number", label: "Call us", target: "tel:+49301234567" } as const
  const link = { kind: "link", label: "Write to us", target: "https://host.example/contact" } as const
  // the one that offers it is left out
  const campaigns = CAMPAIGNS.map((target) => ({ kind: "campaign", label: `Ask ${target}`, target }) as const)
  return {
    afterSeconds: pickBy(keyed(seed, "offers after"), [2, 8, 8, 20]),
    offers: hasAccount
      ? pickBy(keyed(seed, "offers"), [campaigns, [number, ...campaigns]])
      : pickBy(keyed(seed, "offers"), [[number, link], [link]]),
  }
}

/** Of most callers, so that some go on waiting. */
export const takesOf = (seed: number, id: number): number | undefined => {
  if (!hasOverflow(seed)) return undefined
  return keyed(seed, `takes ${id}`) % 3 === 0 ? -1 : keyed(seed, `takes after ${id}`) % 4_000
}

/** In every fourth history calls have budgets. */
const hasBudgets = (seed: number): boolean => isControlled(seed) && keyed(seed, "budgeted") % 4 > 0

export const controlOf = (seed: number, hasAccount: boolean): ControlPlan => ({
  ...(has(seed, "lengths") || hasBudgets(seed) ? { vendor: vendorOf(seed) } : {}),
  ...(hasBudgets(seed) ? { budgets: budgetsOf(seed, hasAccount, vendorOf(seed).control) } : {}),
  ...(has(seed, "events") ? { events: pickBy(keyed(seed, "receiver"), ["well", "badly"] as const) } : {}),
  ...(has(seed, "hours") ? { hours: hoursOf(seed) } : {}),
  ...(has(seed, "lengths") ? { lengths: lengthsOf(seed) } : {}),
  ...(hasOverflow(seed) ? { overflow: overflowOf(seed, hasAccount) } : {}),
  ...(has(seed, "identity") ? { identity: { singleUse: keyed(seed, "single use") % 2 === 0 } } : {}),
})

/** Of most callers, so that some have none. */
export const tokenOf = (seed: number, id: number): TokenPlan | undefined => {
  if (!has(seed, "identity") || keyed(seed, `token ${id}`) % 5 === 0) return undefined
  const callSeconds = pickBy(keyed(seed, `call seconds ${id}`), [undefined, undefined, 8, 30])
  return {
    subject: `subject ${keyed(seed, `subject ${id}`) % 4}`,
    ...(callSeconds === undefined ? {} : { callSeconds }),
    replay: keyed(seed, `replays ${id}`) % 3 === 0 ? keyed(seed, `replay ${id}`) % 4_000 : -1,
  }
}

/** Where calls have a limit, many would last longer. */
export const talkOf = (seed: number, key: string, script: PlatformScript): PlatformScript =>
  (has(seed, "lengths") || hasBudgets(seed)) && keyed(seed, `talks on ${key}`) % 2 === 0
    ? { ...script, talk: script.talk + 20_000 + (keyed(seed, `talk ${key}`) % 150_000) }
    : script

/** What is done about it in the course of a history, and what happens to the gates meanwhile. */
export const controlActions = (seed: number, millis: number, gates: number, callers: number): ReadonlyArray<Action> => [
  ...(has(seed, "hours") && hoursOf(seed).added
    ? [{ kind: "hours", at: keyed(seed, "hours at") % millis } as const]
    : []),
  ...(hasBudgets(seed) ? budgetActions(seed, millis, gates, callers) : []),
]
