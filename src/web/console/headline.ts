/**
 * What the page says first: what is wrong, or the state of the campaign. A problem of the gate, the store or the platform comes before
 * what an operator has ordered, because nobody has ordered it.
 */
import type { Campaigns, Health, Queue, View } from "../../operator/shapes.ts"
import { type CampaignState, count, duration, localized, moment, type Served, stateOf, type Terms } from "./words.ts"

/** A view that contains the queue. */
export interface QueueView extends View {
  readonly queue: NonNullable<View["queue"]>
}

/** `bad`: something does not work. `limited`: not every caller is served as usual, as ordered or known. */
export type Level = "good" | "limited" | "bad"

export interface Headline {
  readonly level: Level
  readonly title: string
  readonly meaning: string
  /** the state of the campaign beside a problem; empty where the title is about it */
  readonly also: string
}

/** States of the platform in which callers are not served. */
const BROKEN: ReadonlySet<string> = new Set(["unavailable", "rejected", "webhooks_missing"])

/** The dots of the levels. */
export const MARKS = { good: "good", limited: "soon", bad: "bad" } as const

/** A store that was slow in so many views in a row is slow, and not one that paused for a moment. */
const SLOW_VIEWS = 3

/** The checks of a view, of which that of a store that answers fails only when it has been slow for a while. */
export const steadied = (view: View, slowBefore: number): { readonly view: View; readonly slow: number } => {
  const isSlow = ({ name, state }: View["health"][number]): boolean => name === "Store" && state === "failed"
  if (view.queue === null || !view.health.some(isSlow)) return { view, slow: 0 }
  const slow = slowBefore + 1
  if (slow >= SLOW_VIEWS) return { view, slow }
  return {
    view: { ...view, health: view.health.map((each) => (isSlow(each) ? { ...each, state: "ok" } : each)) },
    slow,
  }
}

/** Whether the platform serves nobody, whatever an operator has ordered beside that. */
const isBroken = ({ disrupted, platform }: Pick<Served, "disrupted" | "platform">): boolean =>
  BROKEN.has(platform?.state ?? (disrupted ? "unavailable" : ""))

/** How a campaign is, by itself. */
export const levelOf = (served: Served, now: number, terms: Terms): Level => {
  if (!stateOf(served, now, terms).limited) return "good"
  return isBroken(served) ? "bad" : "limited"
}

/** A campaign, and what its state is called. */
export interface Named {
  readonly name: string
  readonly title: string
}

/** The campaigns beside the one that is shown in which something does not work: by their own state, or by the check of their platform. */
export const brokenElsewhere = (
  view: Campaigns | undefined,
  current: string,
  health: ReadonlyArray<Health> = [],
): ReadonlyArray<Named> =>
  (view?.campaigns ?? []).flatMap(({ figures, name, ...terms }) => {
    const now = view?.now ?? 0
    if (name === current || figures === null) return []
    if (levelOf(figures, now, terms) === "bad")
      return [{ name, title: broken(figures, stateOf(figures, now, terms)).title }]
    const check = health.find((each) => each.name === `Platform, ${name}`)
    return check?.state === "failed" ? [{ name, title: "Platform failing" }] : []
  })

/** Checks that fail, those of the campaign that is shown first. */
export const failing = ({ campaign, health }: Pick<View, "campaign" | "health">): ReadonlyArray<Health> => {
  const rank = ({ name }: Health): number => {
    if (name.startsWith("Store")) return 0
    if (isPlatformOf(campaign)({ name })) return 1
    return name.startsWith("Platform") ? 3 : 2
  }
  return health.filter(({ state }) => state === "failed").toSorted((a, b) => rank(a) - rank(b))
}

/** `Platform, sales` is "Platform of sales". */
export const checkName = (name: string): string => name.replace(", ", " of ")

const isPlatformOf =
  (campaign: string) =>
  ({ name }: Pick<Health, "name">): boolean =>
    name === "Platform" || name === `Platform, ${campaign}`

const sentence = (text: string): string => (/[.!?]$/.test(text) || text === "" ? text : `${text}.`)

/** What a check says. */
const said = ({ detail }: Health): string => sentence(localized(detail.charAt(0).toUpperCase() + detail.slice(1)))

const stateText = ({ limited, meaning, title }: CampaignState): string =>
  limited ? `${title}. ${meaning}` : `${title}.`

/** The platform serves nobody, whatever an operator has ordered beside that. */
const broken = ({ platform }: Pick<Queue, "platform">, { meaning, title }: CampaignState): Headline => {
  const what =
    platform?.state === "rejected"
      ? "Platform refuses calls"
      : platform?.state === "webhooks_missing"
        ? "Webhooks missing"
        : "Platform unreachable"
  return { level: "bad", title: what, meaning: what === title ? meaning : `${title}. ${meaning}`, also: "" }
}

export const headlineOf = (
  view: View | undefined,
  queueView: QueueView | undefined,
  {
    answered,
    live,
    problem,
  }: {
    readonly live: boolean | undefined
    readonly problem: string
    /** when the gate answered last, and the present by the same clock (ms since 1970) */
    readonly answered?: { readonly at: number; readonly now: number } | undefined
  },
): Headline => {
  const campaign = queueView === undefined ? undefined : stateOf(queueView.queue, queueView.now, queueView)
  if (live === false) {
    const when = answered === undefined ? "last" : `at ${moment(answered.at, answered.now)}`
    const known = view === undefined ? "" : ` What is shown is what it said ${when}.`
    return { level: "bad", title: "Disconnected", meaning: `${problem}${known}`, also: "" }
  }
  if (view === undefined) return { level: "good", title: "Console", meaning: "Loading…", also: "" }
  if (view.queue === null) {
    const [store] = failing(view)
    const known =
      queueView === undefined ? "" : ` Calls and queue are shown as they were at ${moment(queueView.now, view.now)}.`
    return {
      level: "bad",
      title: "Store unreachable",
      meaning: `${sentence(store?.detail ?? "The shared store is unreachable.")} New callers are turned away until it responds; nobody loses a place.${known}`,
      also: "",
    }
  }
  const fails = failing(view)
  if (campaign?.limited === true && isBroken(view.queue)) {
    const check = fails.find(isPlatformOf(view.campaign))
    return { ...broken(view.queue, campaign), also: check === undefined ? "" : said(check) }
  }
  const [first] = fails
  if (first !== undefined) {
    const [what, ...of] = first.name.split(", ")
    // the buttons are those of the campaign that is shown
    const isElsewhere = of.length > 0 && of.join(", ") !== view.campaign
    return {
      level: "bad",
      title: `${what} failing${of.length === 0 ? "" : `: ${of.join(", ")}`}`,
      meaning: said(first),
      also: campaign === undefined ? "" : `${isElsewhere ? `Campaign ${view.campaign}: ` : ""}${stateText(campaign)}`,
    }
  }
  return {
    level: campaign?.limited === true ? "limited" : "good",
    title: campaign?.title ?? "Console",
    meaning: campaign?.meaning ?? "",
    also: "",
  }
}

/**
 * The health in one line.
 * @param isOtherwise the headline says of something else that it does not work
 */
export const healthLine = (view: View, isOtherwise = false): string => {
  const checked = view.health.filter(({ state }) => state !== "off")
  const bad = failing(view)
  if (bad.length > 0) {
    const names = bad.slice(0, 3).map(({ name }) => checkName(name))
    const rest = bad.length > 3 ? ` and ${count(bad.length - 3)} more` : ""
    return `${count(bad.length)} of ${count(checked.length)} checks fail: ${names.join(", ")}${rest}`
  }
  if (checked.some(({ state }) => state === "checking")) return "Checking store, platform and instances…"
  const store = view.health.find(({ name }) => name === "Store")
  const instances = view.instances.length
  return `All ${count(checked.length)} checks pass${isOtherwise ? " otherwise" : ""}${store === undefined ? "" : `: the store ${store.detail}`}, ${count(instances)} ${instances === 1 ? "instance" : "instances"}`
}

/** The title of the tab: what is wrong first, so that it is read in a narrow tab. */
export const titleOf = ({ level, title }: Headline, queueView: QueueView | undefined): string => {
  const mark = level === "bad" ? "⚠ " : ""
  if (queueView === undefined) return level === "bad" ? `${mark}${title}: voicegate console` : "voicegate console"
  return `${mark}${title}, ${count(queueView.queue.waiting)} waiting: voicegate console`
}

/** How long ago (ms since 1970), in a few characters. */
export const ago = (at: number, now: number): string => `${duration(now - at)} ago`
