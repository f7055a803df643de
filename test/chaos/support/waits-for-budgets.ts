/** What the scenarios share in which callers wait for budgets: what calls cost, a window that ends soon, an operator, and gates that die. */
import { setTimeout as sleep } from "node:timers/promises"
import { ask } from "../../harness/http.ts"
import { eventually } from "../../harness/process.ts"
import { isDrained } from "../../model/over.ts"
import type { BookContent, BooksView } from "./books.ts"
import type { Rig } from "./rig.ts"
import type { Span } from "./spans.ts"

/** What a call is billed at least (s): these calls are shorter, so all are billed exactly this. */
export const MINIMUM = 6
/** What a call holds at first (s): none uses it up. */
export const BLOCK = 30
/** With less no call begins (s): `EndLeadSeconds`, and 10 more. */
export const LEAST = 12
/** An operator reads and changes the budget with it. */
const TOKEN = "a-token-of-the-budgets"
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }

/** How long nobody may be called although somebody waits, a slot is free and budgets have time (ms): a second is promised, and a gate may have died. */
export const MOST_IDLE_MILLIS = 5_000
/** How long after a failover nothing is promised of that (ms): the gates have to find the new master, and hold calls after the outage. */
export const FAILOVER_MILLIS = 30_000

export const HOUR_MILLIS = 3_600_000
export const MINUTE_MILLIS = 60_000

/** The zone in which an hour ends at a minute's end, at the earliest after `soonest` ms. */
export const zoneOf = (soonest: number): { readonly name: string; readonly aheadMillis: number } => {
  const end = new Date(Math.ceil((Date.now() + soonest) / MINUTE_MILLIS) * MINUTE_MILLIS).getUTCMinutes()
  const ahead = (60 - end) % 60
  return { name: `+00:${String(ahead).padStart(2, "0")}`, aheadMillis: ahead * MINUTE_MILLIS }
}

/** When the hour of a moment began (ms since 1970). */
export const hourOf = (now: number, aheadMillis: number): number =>
  Math.floor((now + aheadMillis) / HOUR_MILLIS) * HOUR_MILLIS - aheadMillis

/** A budget of an hour for which callers wait; `Cap` in minutes. */
export const settingsOf = (
  budget: { readonly Name: string; readonly Of: "caller" | "campaign"; readonly Cap: number },
  zone: string,
) => {
  const base = "VoiceAiPlatform__"
  return {
    [`${base}Price__MinimumSeconds`]: String(MINIMUM),
    [`${base}Budget__BlockSeconds`]: String(BLOCK),
    [`${base}Budget__EndLeadSeconds`]: String(LEAST - 10),
    [`${base}Budget__Zone`]: zone,
    [`${base}Budget__Token`]: TOKEN,
    ...Object.fromEntries(
      Object.entries({ ...budget, Unit: "minutes", Per: "hour", OnLimit: "wait" }).map(([name, value]) => [
        `${base}Budgets__0__${name}`,
        `${value}`,
      ]),
    ),
    // callers are called in the order of their requests, wherever they come from
    Queue__NetworkShare: "1",
  }
}

export interface Operator {
  /** @param caller the address of whose budget it is, if it is one of callers */
  readonly add: (minutes: number, caller?: string) => Promise<void>
  /** how often something was added, and how much (s) */
  readonly counts: () => { readonly count: number; readonly added: number }
}

/** An operator, who sends each addition until a gate has answered, and sometimes again. */
export const makeOperator = ({ chance, seats }: Rig, budget: string): Operator => {
  let [count, added] = [0, 0]
  const send = async (id: string, by: number, caller: string | undefined): Promise<boolean> => {
    const answer = await ask("POST", `${seats[chance.below(seats.length)]?.url}/api/budgets/${budget}`, {
      headers: AUTHORIZED,
      body: { by, id, reason: "callers wait", ...(caller === undefined ? {} : { caller }) },
    }).catch(() => undefined)
    return answer?.status === 200
  }
  return {
    add: async (minutes, caller) => {
      const id = `addition-${count++}`
      added += Math.round(minutes * 60)
      while (!(await send(id, minutes, caller))) await sleep(200)
      if (chance.percent(30)) await send(id, minutes, caller)
    },
    counts: () => ({ count, added }),
  }
}

export const total = (spans: ReadonlyArray<Span>): number => spans.reduce((sum, { from, to }) => sum + to - from, 0)
export const longest = (spans: ReadonlyArray<Span>): number => Math.max(0, ...spans.map(({ from, to }) => to - from))
export const sumOf = (all: Iterable<number>): number => [...all].reduce((sum, each) => sum + each, 0)

/** Those of which something is promised: they do not overlap a failover. */
export const outsideFailover = (spans: ReadonlyArray<Span>, failedAt: number | undefined): ReadonlyArray<Span> =>
  spans.filter(({ from, to }) => failedAt === undefined || from > failedAt + FAILOVER_MILLIS || to < failedAt)

/** Waits until nothing is held in these books or owed to any. Returns how long that took (ms). */
export const settle = async (
  { view }: Rig,
  books: BooksView,
  all: ReadonlyArray<ReadonlyArray<string>>,
): Promise<number> => {
  const began = performance.now()
  // a lost end is found by the longest call or the audit; what nobody settles, a minute after
  await eventually(
    "everything is settled",
    async () => {
      const state = await view.look()
      let open = 0
      for (const keys of all) open += (await books.book(keys)).holds.filter(({ settled }) => !settled).length
      if (state === undefined || !isDrained(state) || open > 0)
        throw new Error(`${open} holds, ${state?.leases.size} leases, ${state?.charges.size} charges`)
      return true
    },
    300_000,
  )
  return performance.now() - began
}

/** What an operator reads of the present hour adds up. @param caller as in `Operator.add` */
export const wrongBalance = async (
  { seats }: Rig,
  budget: string,
  { lines }: BookContent,
  caller?: string,
): Promise<ReadonlyArray<string>> => {
  const of = caller === undefined ? "" : `?caller=${caller}`
  const answer = await ask("GET", `${seats[0]?.url}/api/budgets/${budget}${of}`, { headers: AUTHORIZED })
  const seconds = (name: string): number => Math.round(Number(answer.json[name]) * 60)
  const line = lines.get(`${budget} ${Date.parse(String(answer.json.windowFrom))}`)
  const { held = 0, settled = 0 } = line ?? {}
  const isSo =
    seconds("settled") === settled &&
    seconds("held") === held &&
    seconds("settled") + seconds("held") + seconds("left") - seconds("overrun") ===
      seconds("cap") + seconds("adjusted") &&
    Math.min(seconds("left"), seconds("overrun")) === 0
  return isSo ? [] : [`the balance is ${answer.text}, and its ledger has ${JSON.stringify(line)}`]
}

/** The sessions that were started, and those with a caller. */
export const sessionsOf = ({ platform: { sessions } }: Rig) => ({
  started: sessions.length,
  had: sessions.filter(({ joinedAt }) => joinedAt !== undefined).length,
})
