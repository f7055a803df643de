/** How a fault is planted: replaced rules of the store, on the embedded store only. */

import type { takeAndAdmit } from "../../src/admission/layer.ts"
import type { FailReason } from "../../src/fifo-queue/rules/fail.ts"
import { type QueueContext, type Step, stepOf } from "../../src/fifo-queue/rules/shared/step.ts"
import type { rules as queueRules } from "../../src/fifo-queue/rules.ts"
import type { rules as limiterRules } from "../../src/rate-limiter/layer.ts"
import type { Db } from "../../src/store/rules/db.ts"
import { numberOf } from "../../src/store/rules/native.ts"
import type { Answer, AnyRule, Call, Name } from "./did.ts"

type Change = (rule: AnyRule) => AnyRule
/** The rules that a fault replaces. */
type Replaceable = { readonly [N in Name as `queue.${N}`]: (typeof queueRules)[N] } & {
  readonly takeAndAdmit: typeof takeAndAdmit
  readonly "limits.giveBack": typeof limiterRules.giveBack
}
type RuleName = keyof Replaceable
type RunOf<R extends RuleName> = Replaceable[R]["run"]

/** One call of a rule. */
interface Asked<R extends RuleName> {
  readonly db: Db
  readonly keys: ReadonlyArray<string>
  readonly now: number
  readonly context: Parameters<RunOf<R>>[3]
  readonly call: Parameters<RunOf<R>>[4][number]
}
type Body<R extends RuleName> = (asked: Asked<R>) => ReturnType<RunOf<R>>[number]

/** Rules that call the next ticket, or look for absent tickets. */
const RULES: ReadonlyArray<Name> = [
  ...(["admit", "start", "bind", "alias", "fail", "resolve", "end", "leave", "withdraw", "sweep"] as const),
  ...(["heartbeat", "attach"] as const),
]

/** Replaces one rule's body; `real` is the replaced rule. */
export const replaced = <R extends RuleName>(name: R, body: (real: Body<R>) => Body<R>): Change => {
  const made = new Map<AnyRule, AnyRule>()
  return (rule) => {
    if (rule.name !== name) return rule
    const real = ({ call, context, db, keys, now }: Asked<R>) =>
      rule.run(db, keys, now, context as object, [call as object])[0]
    const changed = body(real as Body<R>)
    const known = made.get(rule) ?? {
      ...rule,
      run: (db, keys, now, context, calls) =>
        calls.map((call) => changed({ db, keys, now, context, call } as unknown as Asked<R>)),
    }
    made.set(rule, known)
    return known
  }
}

/** What runs a rule. */
export type Run = AnyRule["run"]

/** Replaces what runs a rule beside the queue; `real` is the replaced one. */
export const rerun =
  <RuleName extends string>(name: RuleName, run: (real: Run) => Run): Change =>
  (rule) =>
    rule.name === name ? { ...rule, run: run(rule.run) } : rule

/** Runs a rule with other calls. */
export const withCalls =
  (change: (call: object) => object) =>
  (real: Run): Run =>
  (db, keys, now, context, calls) =>
    real(db, keys, now, context, calls.map(change))

/** The input of a queue rule, with names that TypeScript can follow. */
interface QueueAsked<N extends Name> {
  readonly db: Db
  readonly keys: ReadonlyArray<string>
  readonly now: number
  readonly context: QueueContext
  readonly call: Call<N>
}

/** Replaces one queue rule by a body that sees its input; `real` runs the rule with the given input. */
const wrapped = <N extends Name>(
  name: N,
  body: (asked: QueueAsked<N>, real: (asked: QueueAsked<N>) => Answer<N>) => Answer<N>,
): Change =>
  replaced(`queue.${name}` as RuleName, (real) => (asked) => {
    const answer = body(asked as unknown as QueueAsked<N>, (changed) => real(changed as never) as Answer<N>)
    return answer as never
  })

/** Changes the input of a queue rule. */
export const asked = <N extends Name>(
  name: N,
  change: (asked: Pick<QueueAsked<N>, "call" | "context">, step: Step) => Partial<QueueAsked<N>>,
): Change =>
  wrapped(name, (before, real) =>
    real({ ...before, ...change(before, stepOf(before.db, before.keys, before.now, before.context)) }),
  )

/** Replaces one queue rule by another body. */
export const queue = <N extends Name>(
  name: N,
  body: (step: Step, call: Call<N>, real: () => Answer<N>) => Answer<N>,
): Change =>
  wrapped(name, (asked, real) =>
    body(stepOf(asked.db, asked.keys, asked.now, asked.context), asked.call, () => real(asked)),
  )

/** Applies the same change to several rules. */
const eachOf = ({ hget, hset, zadd }: Partial<Db>): Partial<Db> => {
  const many: { -readonly [K in keyof Db]?: Db[K] } = {}
  if (hget !== undefined) many.hgetNumbers = (key, fields) => fields.map((field) => numberOf(hget(key, field)))
  if (hset !== undefined) {
    many.hsetMany = (key, list) => {
      for (let i = 0; i < list.length; i += 2) hset(key, list[i] ?? "", list[i + 1] ?? "")
    }
  }
  if (zadd !== undefined) {
    many.zaddMany = (key, list) => {
      for (let i = 0; i < list.length; i += 2) zadd(key, Number(list[i]), String(list[i + 1]))
    }
  }
  return many
}

/** A store that answers some of a rule's commands differently. */
export const tampered = <N extends Name>(name: N, change: (db: Db, step: Step, call: Call<N>) => Partial<Db>): Change =>
  wrapped(name, (asked, real) => {
    const { call, context, db, keys, now } = asked
    const single = change(db, stepOf(db, keys, now, context), call)
    const changed = { ...eachOf(single), ...single }
    const seen: Db = new Proxy(db, {
      get: (target, property) => {
        const value = Reflect.get(changed, property) ?? Reflect.get(target, property)
        return typeof value === "function" ? value.bind(target) : value
      },
    })
    return real({ ...asked, db: seen })
  })

/** Reports another reason of a failed start to the store. */
export const failedAs = (was: FailReason, becomes: FailReason): Change =>
  asked("fail", ({ call }) => ({ call: call.reason === was ? { ...call, reason: becomes } : call }))

/** Changes these queue rules in the same way. */
export const each = (names: ReadonlyArray<Name>, change: (name: Name) => Change): Change => {
  const changes = names.map(change)
  return (rule) => changes.reduce((made, next) => next(made), rule)
}

/** Changes every queue rule in the same way. */
export const everywhere = (change: (name: Name) => Change): Change => each(RULES, change)
