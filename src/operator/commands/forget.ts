/** What the command `forget` prints: what the store has of a caller, place by place, and what the gate cannot reach. */
import { Effect } from "effect"
import { type ForgetRequest, type Forgotten, wrongForget } from "../forgotten.ts"
import { type ConsoleClient, ConsoleFailed, printable } from "./console-client.ts"
import { columns, type Printed } from "./run.ts"

const PLACES: Readonly<Record<Forgotten["found"][number]["place"], string>> = {
  tickets: "tickets that are over",
  events: "events, delivered",
  undelivered_events: "events, not delivered",
  damaged_records: "damaged records",
  limits: "units of limits",
  budgets: "calls and windows of budgets",
  billed_calls: "calls in campaigns' budgets",
  address_facts: "facts about the address",
  seen: "seen as asking most, or refused lately",
}

const KEPT: Readonly<Record<Forgotten["kept"][number]["place"], string>> = {
  waiting: "waits",
  calls: "in a call, or about to be",
  events: "events of these",
  open_units: "units of limits of these",
  held_time: "held time of these, with the caller's budgets",
  settlements: "carried out within seconds",
  blocks: "blocks of the address, by an operator",
  audit_log: "lines of the audit log: an operator, or a block, at this address",
}

/** Adds the counts of several answers up, place by place. */
const sumOf = <P extends string>(
  rows: ReadonlyArray<{ readonly place: P; readonly campaign?: string; readonly count: number }>,
) => {
  const sums = new Map<string, { readonly place: P; readonly campaign?: string; readonly count: number }>()
  for (const row of rows) {
    const key = `${row.place} ${row.campaign}`
    sums.set(key, { ...row, count: row.count + (sums.get(key)?.count ?? 0) })
  }
  return [...sums.values()]
}

/** As many requests as it takes; the counts are added up. */
const forgetAll = Effect.fnUntraced(function* (client: Pick<ConsoleClient, "forget">, request: ForgetRequest) {
  let answer = yield* client.forget(request)
  const found = [...answer.found]
  const kept = [...answer.kept]
  while (answer.next !== undefined) {
    answer = yield* client.forget({ ...request, from: answer.next })
    found.push(...answer.found)
    kept.push(...answer.kept)
  }
  const { dryRun, reference, unreached } = answer
  return { reference, dryRun, found: sumOf(found), kept: sumOf(kept), unreached } satisfies Forgotten
})

const rowsOf = <P extends string>(
  texts: Readonly<Record<P, string>>,
  rows: ReadonlyArray<{ readonly place: P; readonly campaign?: string; readonly count: number }>,
): ReadonlyArray<string> =>
  columns(rows.map(({ campaign, count, place }) => ["", texts[place], printable(campaign ?? ""), String(count)]))

/** Without `dryRun: false` it only says what would be forgotten. */
export const forgetCaller = Effect.fnUntraced(function* (
  client: Pick<ConsoleClient, "forget">,
  request: ForgetRequest,
) {
  const wrong = wrongForget(request)
  if (wrong !== undefined) {
    return yield* new ConsoleFailed({
      message: wrong.replace("forget: ", "").replace("a subject or an address", "--subject or --address"),
    })
  }
  const document = yield* forgetAll(client, request)
  const { dryRun, found, kept, reference, unreached } = document
  const total = found.reduce((sum, { count }) => sum + count, 0)
  const done = dryRun
    ? [`Nothing was removed. To remove what was found, add --yes.`]
    : [`The audit log calls this order ${reference}.`]
  return {
    ok: true,
    document,
    lines: [
      total === 0 ? "Nothing was found." : dryRun ? "Found:" : "Removed:",
      ...rowsOf(PLACES, found),
      ...(kept.length === 0 ? [] : ["Kept:", ...rowsOf(KEPT, kept)]),
      ...(kept.some(({ place }) => place === "waiting" || place === "calls")
        ? ["A ticket that waits or is in a call goes on. Run this again ten minutes after it is over."]
        : []),
      "Not reached:",
      ...unreached.map((where) => `  ${printable(where)}`),
      ...(dryRun && total === 0 ? [] : done),
    ],
  } satisfies Printed
})
