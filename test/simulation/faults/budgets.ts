/** Faults in budgets: what is held for calls, charged, corrected, told and added. */

import type { Held } from "../../../src/budgets/answers.ts"
import {
  BOOK_KEY_COUNT,
  booksOf,
  changeBudget,
  loadHold,
  noEffects,
  saveHold,
} from "../../../src/budgets/rules/book.ts"
import type { HoldCall } from "../../../src/budgets/rules/hold.ts"
import type { Db } from "../../../src/store/rules/db.ts"
import type { BudgetRule } from "../plan.ts"
import { queue, type Run, rerun, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** Replaces a rule of the budgets. */
const budgets = rerun<BudgetRule | "budgets.adjust">

/** The same rule with other calls. */
const asking =
  (change: (call: HoldCall) => HoldCall) =>
  (real: Run): Run =>
  (db, keys, now, context, calls) =>
    real(db, keys, now, context, (calls as ReadonlyArray<HoldCall>).map(change))

/** A step with other entries: other windows, caps or shares. */
const entering = (
  change: (entry: NonNullable<HoldCall["books"][number]["entries"]>[number], call: HoldCall) => typeof entry,
) =>
  asking((call) => ({
    ...call,
    books: call.books.map((part) => ({
      ...part,
      ...(part.entries === undefined ? {} : { entries: part.entries.map((entry) => change(entry, call)) }),
    })),
  }))

const HOUR_MILLIS = 3_600_000

const idOf = (call: object): string => ("id" in call ? String(call.id) : "")

/** Whether a step is one of a caller's book. */
const isOfCaller = (keys: ReadonlyArray<string>): boolean => {
  const [book] = booksOf(keys)
  return book !== undefined && book.ledger === book.shared
}

/** A hold is known by its ticket alone, without the lease of its slot. */
const withoutLease = (call: object): object =>
  "id" in call && typeof call.id === "string" ? { ...call, id: call.id.replace(/\..*/, "") } : call

export const budgetFaults: ReadonlyArray<Planted> = [
  {
    name: "a call is charged twice",
    rule: budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
      const answers = real(db, keys, now, context, calls)
      const [book] = booksOf(keys)
      for (const call of calls) {
        const id = "id" in call ? String(call.id) : ""
        for (const part of (book && loadHold(db, book, id)?.parts) ?? [])
          if (book !== undefined) changeBudget(db, book, part, part.amount, 0, noEffects())
      }
      return answers
    }),
  },
  {
    name: "a charge that is repeated counts again",
    rule: budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
      const [book] = booksOf(keys)
      for (const call of calls) {
        const id = "id" in call ? String(call.id) : ""
        const hold = book && loadHold(db, book, id)
        if (book !== undefined && hold?.settled === true) {
          hold.settled = false
          saveHold(db, book, id, hold, now)
        }
      }
      return real(db, keys, now, context, calls)
    }),
  },
  {
    name: "an extension is granted and not written",
    rule: budgets(
      "budgets.hold",
      (real) => (db, keys, now, context, calls) =>
        (calls as ReadonlyArray<HoldCall>).flatMap((call) =>
          call.running === true ? [{ _tag: "held", seconds: call.seconds }] : [...real(db, keys, now, context, [call])],
        ),
    ),
  },
  {
    name: "an extension is lost with the gate that was to make it",
    rule: budgets("budgets.due", (real) => (db, keys, now, context, calls) => {
      const answers = real(db, keys, now, context, calls)
      const [book] = booksOf(keys)
      for (const { holds = [] } of answers as ReadonlyArray<{ holds?: ReadonlyArray<{ id: string }> }>)
        for (const { id } of holds) if (book !== undefined) db.zrem(book.holds, id)
      return answers
    }),
  },
  {
    name: "nobody looks for calls that need more time",
    rule: budgets("budgets.due", () => (_db, _keys, _now, _context, calls) => calls.map(() => ({}))),
  },
  {
    name: "a hold is known without the lease of its slot",
    rule: (rule) =>
      rule.name === "budgets.hold" || rule.name === "budgets.settle"
        ? {
            ...rule,
            run: (db, keys, now, context, calls) => rule.run(db, keys, now, context, calls.map(withoutLease)),
          }
        : rule,
  },
  {
    name: "what is held of a caller expires during the call",
    rule: budgets(
      "budgets.hold",
      (real) => (db, keys, now, context, calls) =>
        asking((call) => ({
          ...call,
          books: call.books.map((part) => (part.expires === true ? { ...part, due: now + 5_000 } : part)),
        }))(real)(db, keys, now, context, calls),
    ),
  },
  {
    name: "a call goes on in another window",
    rule: budgets(
      "budgets.hold",
      entering((entry, { running }) => (running === true ? { ...entry, from: entry.from + HOUR_MILLIS } : entry)),
    ),
  },
  {
    name: "an hour is two windows",
    rule: budgets(
      "budgets.hold",
      (real) => (db, keys, now, context, calls) =>
        entering((entry) => ({ ...entry, from: now % 2 === 0 ? entry.from : entry.from + 1 }))(real)(
          ...([db, keys, now, context, calls] as const),
        ),
    ),
  },
  {
    name: "what is held of a start that came to nothing stays held",
    rule: budgets(
      "budgets.settle",
      (real) => (db, keys, now, context, calls) =>
        calls.map((call) =>
          "seconds" in call && call.seconds === 0
            ? { _tag: "again", billed: 0, data: "" }
            : real(db, keys, now, context, [call])[0],
        ),
    ),
  },
  {
    name: "what is held and not used is not given back",
    rule: budgets(
      "budgets.settle",
      (real) => (db, keys, now, context, calls) =>
        real(
          db,
          keys,
          now,
          context,
          calls.map((call) => ({ ...call, unknown: true })),
        ),
    ),
  },
  {
    name: "what is held of a caller first is not given back when the campaign refuses",
    rule: budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
      if (!isOfCaller(keys)) return real(db, keys, now, context, calls)
      return calls.map((call) =>
        "seconds" in call && call.seconds === 0
          ? { _tag: "settled", billed: 0, data: "" }
          : real(db, keys, now, context, [call])[0],
      )
    }),
  },
  {
    name: "what is held of a caller first is given back twice",
    rule: budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
      const [book] = booksOf(keys)
      for (const call of isOfCaller(keys) ? calls : []) {
        const hold = book && "seconds" in call && call.seconds === 0 ? loadHold(db, book, idOf(call)) : undefined
        if (book === undefined || hold?.settled !== false) continue
        for (const part of hold.parts) changeBudget(db, book, part, 0, -part.amount, noEffects())
      }
      return real(db, keys, now, context, calls)
    }),
  },
  {
    name: "what is held of a caller first stays held when the gate dies before the campaign's",
    rule: (() => {
      const unmade = new WeakMap<Db, Set<string>>()
      return budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
        const known = unmade.get(db) ?? new Set<string>()
        unmade.set(db, known)
        const [book] = booksOf(keys)
        return calls.map((call) => {
          const isHeld = isOfCaller(keys) && book !== undefined && loadHold(db, book, idOf(call))?.settled === false
          // nothing was held in the campaign's book, so nothing is looked for in the caller's
          if (isHeld && known.has(idOf(call))) return { _tag: "again", billed: 0, data: "" }
          const answer = real(db, keys, now, context, [call])[0] as { _tag: string }
          if (answer._tag === "unmade") known.add(idOf(call))
          return answer
        })
      })
    })(),
  },
  {
    name: "one step holds in the campaign's book what the caller's refuses",
    rule: budgets("budgets.hold", (real) => (db, keys, now, context, calls) => {
      const answers = real(db, keys, now, context, calls)
      for (const [n, answer] of (answers as ReadonlyArray<Held>).entries()) {
        const call = (calls as ReadonlyArray<HoldCall>)[n]
        const [campaigns, ...others] = call?.books ?? []
        const isOfOther = others.some(({ entries = [] }) =>
          entries.some(({ name }) => answer._tag === "refused" && name === answer.name),
        )
        if (call !== undefined && campaigns !== undefined && isOfOther)
          real(db, keys.slice(0, BOOK_KEY_COUNT), now, context, [{ ...call, books: [campaigns] }])
      }
      return answers
    }),
  },
  {
    name: "the caller of a start in doubt is charged",
    rule: budgets("budgets.settle", (real) => (db, keys, now, context, calls) => {
      return real(
        db,
        keys,
        now,
        context,
        isOfCaller(keys)
          ? calls.map((call) => ("seconds" in call && call.seconds === 0 ? { ...call, seconds: 7 } : call))
          : calls,
      )
    }),
  },
  {
    name: "a charge that is owed is forgotten",
    rule: tampered("end", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.charges ? undefined : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a correction is applied again",
    rule: budgets(
      "budgets.correct",
      (real) => (db, keys, now, context, calls) =>
        calls.map((call) => {
          const report = "report" in call ? String(call.report) : ""
          const again = real(db, keys, now, context, [call])[0] as { _tag: string }
          return again._tag === "again" ? real(db, keys, now, context, [{ ...call, report: `${report}+` }])[0] : again
        }),
    ),
  },
  {
    name: "a correction is added to what was charged",
    rule: budgets("budgets.correct", (real) => (db, keys, now, context, calls) => {
      const answers = real(db, keys, now, context, calls)
      const [book] = booksOf(keys)
      for (const answer of answers as ReadonlyArray<{ _tag: string; id?: string }>)
        for (const part of (answer._tag === "corrected" && book && loadHold(db, book, answer.id ?? "")?.parts) || [])
          if (book !== undefined) changeBudget(db, book, part, 1, 0, noEffects())
      return answers
    }),
  },
  {
    name: "the cap is not kept",
    rule: budgets(
      "budgets.hold",
      entering((entry) => ({ ...entry, cap: entry.cap * 2 })),
    ),
  },
  {
    name: "an alert comes every time",
    rule: budgets("budgets.hold", (real) => (db, keys, now, context, calls) => {
      const [book] = booksOf(keys)
      for (const { books } of calls as ReadonlyArray<HoldCall>)
        for (const { from, name } of books[0]?.entries ?? [])
          if (book !== undefined)
            for (const ledger of [book.ledger, book.shared]) db.hdel(ledger, `alerted ${name} ${from}`)
      return real(db, keys, now, context, calls)
    }),
  },
  {
    name: "no alert comes before a budget refuses",
    rule: budgets(
      "budgets.hold",
      entering(({ shares: _, ...entry }) => entry),
    ),
  },
  {
    name: "a top-up is lost with the gate that makes it",
    rule: budgets("budgets.adjust", (real) => (db, keys, now, context, calls) => {
      const [book] = booksOf(keys)
      for (const call of calls as ReadonlyArray<{ name: string; from: number; id: string; by: number }>) {
        const field = `adjustment ${call.name} ${call.from} ${call.id}`
        if (book !== undefined) for (const ledger of [book.ledger, book.shared]) db.hset(ledger, field, String(call.by))
      }
      return real(db, keys, now, context, calls)
    }),
  },
  {
    name: "a top-up that is repeated is made again",
    rule: budgets(
      "budgets.adjust",
      (real) => (db, keys, now, context, calls) =>
        real(
          db,
          keys,
          now,
          context,
          calls.map((call) => ({ ...call, id: `${"id" in call ? call.id : ""}-${now}` })),
        ),
    ),
  },
  {
    name: "a page is warned that a budget ends its call, and nobody ends it",
    rule: tampered("endAtBudget", (db, s) => ({
      zadd: (key, score, member) => (key === s.keys.limits ? db.zrem(key, member) : db.zadd(key, score, member)),
    })),
  },
  {
    name: "a call ends when what is held of it is used up, and not before",
    rule: queue("endAtBudget", (s, call, real) => {
      const answer = real()
      if (call.endsAt === undefined) return answer
      const record = s.db.hget(s.keys.tickets, call.ticket)
      if (record === undefined) return answer
      const ticket = JSON.parse(record)
      if (ticket.spent === true)
        s.db.hset(s.keys.tickets, call.ticket, JSON.stringify({ ...ticket, endsAt: ticket.endsAt + 20_000 }))
      return answer
    }),
  },
]
