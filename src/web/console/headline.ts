/**
 * What the page says first: what is wrong, or the state of the campaign, and what to do. A problem of the gate, the store, the platform or a
 * budget comes before what an operator has ordered, because nobody has ordered it.
 */
import type { Campaigns, Health, Instance, Queue, View } from "../../operator/shapes.ts"
import { SILENT_MILLIS } from "../../operator/silent-instances.ts"
import { adviceFor, adviceForCheck, OUTDATED, WITHOUT_GATE, WITHOUT_STORE } from "./advice.ts"
import { type Level as CampaignLevel, type CampaignState, isBroken, levelOf, stateOf } from "./campaign-state.ts"
import { count, duration, localized, moment } from "./words.ts"

/** A view that contains the queue. */
export interface QueueView extends View {
  readonly queue: NonNullable<View["queue"]>
}

/** `none`: not known yet. */
export type Level = CampaignLevel | "none"

export interface Headline {
  readonly level: Level
  readonly title: string
  readonly meaning: string
  /** the state of the campaign beside a problem; empty where the title is about it */
  readonly also: string
  /** what to do, with commands between backticks; empty where nothing is to be done */
  readonly advice: string
}

/** The dots of the levels. */
export const MARKS = { good: "good", planned: "none", limited: "soon", bad: "bad" } as const

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
    if (levelOf(figures, now, terms) === "bad") {
      const state = stateOf(figures, now, terms)
      return [{ name, title: isBroken(figures) ? broken(figures, state).title : state.title }]
    }
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

const stateText = ({ level, meaning, title }: CampaignState): string =>
  level === "good" ? `${title}.` : `${title}. ${meaning}`

const joined = (...texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join(" ")

/** A platform that serves nobody: what its state is called, and what it means. */
const broken = (
  { platform }: Pick<Queue, "platform">,
  { meaning, title }: CampaignState,
): Pick<Headline, "meaning" | "title"> => {
  const what =
    platform?.state === "rejected"
      ? "Platform refuses calls"
      : platform?.state === "webhooks_missing"
        ? "Webhooks missing"
        : "Platform unreachable"
  return { title: what, meaning: what === title ? meaning : `${title}. ${meaning}` }
}

/** A check that fails: of what, and of which campaign where it is that of one. */
const failed = ({ name }: Health): { readonly title: string; readonly of: string } => {
  if (name.startsWith("Instance ")) return { title: `${name} is down`, of: "" }
  const [what = "", ...of] = name.split(", ")
  return { title: `${what} failing${of.length === 0 ? "" : `: ${of.join(", ")}`}`, of: of.join(", ") }
}

/** How the page stands to the gate. */
export interface Contact {
  /** whether the gate answered the last request; undefined before the first answer */
  readonly live: boolean | undefined
  /** why it did not */
  readonly problem: string
  /** whether that is because the page is of another version than the gate */
  readonly outdated?: boolean
  /** when the gate answered last, and the present by the same clock (ms since 1970) */
  readonly answered?: { readonly at: number; readonly now: number } | undefined
  /** a campaign whose state is not known yet, for longer than a moment; empty for none */
  readonly awaits?: string
}

export const headlineOf = (
  view: View | undefined,
  queueView: QueueView | undefined,
  { answered, awaits = "", live, outdated = false, problem }: Contact,
): Headline => {
  if (live === false) {
    const when = answered === undefined ? "last" : `at ${moment(answered.at, answered.now)}`
    const known = view === undefined ? "" : `What is shown is what it said ${when}.`
    const advice = outdated ? OUTDATED : WITHOUT_GATE
    return { level: "bad", title: "Disconnected", meaning: joined(problem, known), also: "", advice }
  }
  if (view === undefined) {
    const meaning = "The gate is asked for its calls and its queue."
    return { level: "none", title: "Loading…", meaning, also: "", advice: "" }
  }
  if (awaits !== "") {
    const meaning = `The gate is asked for this campaign. What is shown below is of ${view.campaign}.`
    return { level: "none", title: `Loading ${awaits}…`, meaning, also: "", advice: "" }
  }
  return view.queue === null ? withoutStore(view, queueView) : ofQueue({ ...view, queue: view.queue })
}

const withoutStore = (view: View, queueView: QueueView | undefined): Headline => {
  const [store] = failing(view)
  const known =
    queueView === undefined ? "" : `Calls and queue are shown as they were at ${moment(queueView.now, view.now)}.`
  return {
    level: "bad",
    title: "Store unreachable",
    meaning: joined(
      sentence(store?.detail ?? "The shared store is unreachable."),
      "New callers are turned away until it responds; nobody loses a place.",
      known,
    ),
    also: "",
    advice: WITHOUT_STORE,
  }
}

/** While the gate and the store answer. */
const ofQueue = (view: QueueView): Headline => {
  const { campaign, campaigns, now, queue } = view
  const state = stateOf(queue, now, view)
  const level = levelOf(queue, now, view)
  const advice = adviceFor(campaign, queue, now, view)
  const fails = failing(view)
  const [first] = fails
  if (level === "bad" && isBroken(queue)) {
    const check = fails.find(isPlatformOf(campaign))
    return { level, ...broken(queue, state), also: check === undefined ? "" : said(check), advice }
  }
  if (first === undefined) return { level, title: state.title, meaning: state.meaning, also: "", advice }
  const { of, title } = failed(first)
  const both = { level: "bad", advice: joined(advice, adviceForCheck(first)) } as const
  if (level === "bad") return { ...both, title: state.title, meaning: state.meaning, also: `${title}. ${said(first)}` }
  // the buttons are those of the campaign that is shown
  const whose = campaigns.length > 1 && of !== campaign ? `Campaign ${campaign}: ` : ""
  return { ...both, title, meaning: said(first), also: `${whose}${stateText(state)}` }
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
  const instances = view.instances.filter((each) => !isSilent(each, view.now)).length
  return `All ${count(checked.length)} checks pass${isOtherwise ? " otherwise" : ""}${store === undefined ? "" : `: the store ${store.detail}`}, ${count(instances)} ${instances === 1 ? "instance" : "instances"}`
}

/** Whether an instance has died: it has sent no heartbeat for a while, and did not take itself off the list. */
export const isSilent = ({ seenAt }: Pick<Instance, "seenAt">, now: number): boolean => now - seenAt >= SILENT_MILLIS

/** The title of the tab: what is wrong first, so that it is read in a narrow tab. */
export const titleOf = ({ level, title }: Headline, queueView: QueueView | undefined): string => {
  const mark = level === "bad" ? "⚠ " : ""
  if (queueView === undefined) return level === "bad" ? `${mark}${title}: voicegate console` : "voicegate console"
  return `${mark}${title}, ${count(queueView.queue.waiting)} waiting: voicegate console`
}

/** How long ago (ms since 1970), in a few characters. */
export const ago = (at: number, now: number): string => `${duration(now - at)} ago`
