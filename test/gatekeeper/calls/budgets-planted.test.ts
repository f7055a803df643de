/** The promises of budgets over gates that die (`budgets-kills.test.ts`) are broken on purpose, and that is found. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { booksOf, changeBudget, loadHold, noEffects } from "../../../src/budgets/rules/book.ts"
import type { HoldCall } from "../../../src/budgets/rules/hold.ts"
import type { SettleCall } from "../../../src/budgets/rules/settle.ts"
import { rules } from "../../../src/budgets/rules.ts"
import type { Rule, Store } from "../../../src/store/Store.ts"
import { SEED } from "../../harness/seed.ts"
import { playKills } from "../../support/budget-kills.ts"
import { BEGIN } from "../../support/gate.ts"
import { makeStore } from "../../support/gates.ts"

type Run<C extends object> = Rule<object, C, never>["run"]

/** A store whose rule of this name does something else. */
const withRule = <C extends object>(
  store: Store["Service"],
  name: string,
  wrong: (right: Run<C>) => Run<C>,
): Store["Service"] => ({
  ...store,
  run: (rule, ask) => store.run(rule.name === name ? { ...rule, run: wrong(rule.run as never) as never } : rule, ask),
})

const HOUR = 3_600_000
/** Within so many histories a fault is found. */
const MOST_HISTORIES = 6

/** Of each fault what is wrong, and what finds it. */
const FAULTS: ReadonlyArray<
  readonly [what: string, plant: (store: Store["Service"]) => Store["Service"], found: RegExp]
> = [
  [
    "a call that is settled twice",
    (store) =>
      withRule<SettleCall>(store, rules.settle.name, (right) => (db, keys, now, context, calls) => {
        const answers = right(db, keys, now, context, calls)
        const [book] = booksOf(keys)
        for (const { id } of calls) {
          for (const part of (book && loadHold(db, book, id)?.parts) ?? [])
            if (book !== undefined) changeBudget(db, book, part, part.amount, 0, noEffects())
        }
        return answers
      }),
    /has settled \d+, and its calls were charged|were charged, and the calls lasted/,
  ],
  [
    "an extension that is lost",
    (store) =>
      withRule<HoldCall>(
        store,
        rules.hold.name,
        (right) => (db, keys, now, context, calls) =>
          calls.flatMap((call) =>
            call.running === true
              ? [{ _tag: "held", seconds: call.seconds } as never]
              : [...right(db, keys, now, context, [call])],
          ),
      ),
    /is its cap with what was counted/,
  ],
  [
    "a caller's hold that expires before the call is over",
    (store) =>
      withRule<HoldCall>(
        store,
        rules.hold.name,
        (right) => (db, keys, now, context, calls) =>
          right(
            db,
            keys,
            now,
            context,
            calls.map((call) => ({
              ...call,
              books: call.books.map((part) => (part.expires === true ? { ...part, due: now + 5_000 } : part)),
            })),
          ),
      ),
    /callers were charged \d+ s, and the campaign/,
  ],
  [
    "a call that counts in another window when it goes on",
    (store) =>
      withRule<HoldCall>(
        store,
        rules.hold.name,
        (right) => (db, keys, now, context, calls) =>
          right(
            db,
            keys,
            now,
            context,
            calls.map((call) =>
              call.running === true
                ? {
                    ...call,
                    books: call.books.map((part) => ({
                      ...part,
                      entries: (part.entries ?? []).map((entry) => ({ ...entry, from: entry.from + HOUR })),
                    })),
                  }
                : call,
            ),
          ),
      ),
    /were charged, and the calls lasted/,
  ],
]

describe("what is wrong with budgets is found", () => {
  for (const [what, plant, found] of FAULTS) {
    it.effect(
      `${what} is found (seed ${SEED})`,
      () =>
        Effect.gen(function* () {
          yield* TestClock.setTime(BEGIN)
          let seen = ""
          for (let n = 0; n < MOST_HISTORIES && !found.test(seen); n++) {
            const store = plant(yield* makeStore)
            const { wrong } = yield* playKills(SEED + n, store, { calls: 150, capMinutes: 12, callerMinutes: 20 })
            seen = wrong.join("\n")
          }
          assert.match(seen, found)
        }),
      300_000,
    )
  }
})
