/**
 * A batch on the Redis store has the same effect as its calls one after the other: calls of one turn on Redis and the
 * same calls in sequence on the memory store must give the same answers and leave the same data. The server has each rule's
 * script before: a command that is answered with NOSCRIPT is sent again, perhaps behind later ones.
 */

import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { takeAndAdmit } from "../../src/admission/layer.ts"
import type { StepAnswer } from "../../src/fifo-queue/answers.ts"
import type { Newcomer } from "../../src/fifo-queue/inputs.ts"
import { keysOf as campaignKeys } from "../../src/fifo-queue/keys.ts"
import type { QueueContext } from "../../src/fifo-queue/rules/shared/step.ts"
import { rules as queueRules } from "../../src/fifo-queue/rules.ts"
import { keysOf as callerKeys, rules } from "../../src/rate-limiter/layer.ts"
import { NO_CONTEXT } from "../../src/store/rule.ts"
import { type Ask, type Rule, Store } from "../../src/store/Store.ts"
import { Chance } from "../harness/chance.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { memoryStore, redisStore } from "../harness/stores.ts"
import { probe } from "../model/queue-state.ts"
import { limitsProbe } from "../simulation/limits.ts"

const SEEDS = 60
const NOW = 4_000_000_000_000

const logOf = (caller: string): string => callerKeys(caller)[0] ?? ""

interface Put {
  readonly field: string
  readonly value: number
}

/** Sets a field of the campaign's `meta`, as an operator or a platform at capacity would. Keys: a campaign's */
const put: Rule<object, Put, true> = {
  name: "test.put",
  lua: `local call = cjson.decode(ARGV[3])
redis.call('HSET', KEYS[1], call.field, string.format('%.0f', call.value))
return '[true]'`,
  run: (db, [meta = ""], _now, _context, calls) =>
    calls.map(({ field, value }) => {
      db.hset(meta, field, String(value))
      return true
    }),
  decode: () => true,
  batch: false,
}

const contextOf = (random: Chance, slots: number, maxLength: number): QueueContext => ({
  slots,
  share: random.pick(0.25, 0.5, 1),
  maxLength,
  instance: "i1",
  holder: 1,
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 5_000,
  seenMillis: 7_000,
  callMillis: 7_200_000,
})

/** Signals and settlements in the order of the calls. */
const effectsOf = <A>(answers: ReadonlyArray<StepAnswer<A>>) => ({
  signals: answers.flatMap(({ signals = [] }) => signals),
  settlements: answers.flatMap(({ settlements = [] }) => settlements),
})
const results = <A>(answers: ReadonlyArray<StepAnswer<A>>): ReadonlyArray<A> => answers.map(({ result }) => result)

const assertSame = <A>(
  together: ReadonlyArray<StepAnswer<A>>,
  one: ReadonlyArray<StepAnswer<A>>,
  what: string,
): void => {
  assert.deepStrictEqual(results(together), results(one), what)
  assert.deepStrictEqual(effectsOf(together), effectsOf(one), `signals and settlements of ${what}`)
}

describe("batched calls", () => {
  let server: RedisServer | undefined
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.dispose())

  const both: Effect.Effect<readonly [memory: Store["Service"], redis: Store["Service"]], never, Scope.Scope> =
    Effect.gen(function* () {
      const build = (layer: Layer.Layer<Store>) => Effect.map(Layer.build(Layer.fresh(layer)), Context.get(Store))
      return [yield* build(memoryStore), yield* build(redisStore(() => server?.url ?? ""))] as const
    })

  /** How many rules the server has run. */
  const commands = Effect.promise(async () => {
    const stats = (await server?.command("info", "commandstats")) ?? ""
    return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
  })

  /** Runs the calls one after the other on one store, and all at once on the other. */
  const ask = <Context extends object, Call extends object, A>(
    [memory, redis]: readonly [Store["Service"], Store["Service"]],
    rule: Rule<Context, Call, A>,
    batch: ReadonlyArray<Ask<Context, Call>>,
  ) =>
    Effect.gen(function* () {
      const one = yield* Effect.forEach(batch, (call) => memory.run(rule, call))
      const together = yield* Effect.forEach(batch, (call) => redis.run(rule, call), { concurrency: "unbounded" })
      return { one, together }
    })

  const load = ({ lua }: { readonly lua: string }) => Effect.promise(async () => server?.command("script", "load", lua))

  const sameOf = <Call extends object, A>(
    stores: readonly [Store["Service"], Store["Service"]],
    rule: Rule<object, Call, A>,
    keys: ReadonlyArray<string>,
    call: Call,
    what: string,
  ) =>
    Effect.gen(function* () {
      const input = { keys, now: NOW, context: NO_CONTEXT, call }
      assert.deepStrictEqual(yield* stores[1].run(rule, input), yield* stores[0].run(rule, input), what)
    })

  it.live("admit as one by one: to slots, to the queue and not at all", () =>
    Effect.gen(function* () {
      const stores = yield* both
      yield* load(queueRules.admit)
      let calls = 0
      const before = yield* commands
      const outcomes = new Set<string>()
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = new Chance(seed)
        const keys = campaignKeys(`joined-${seed}`)
        const ids: Array<string> = []
        for (let round = 0; round < 4; round++) {
          const now = NOW + round
          const field = random.pick("paused", "pausedUntil", "draining", "backoffUntil", "averageMillis")
          const value = field.endsWith("Until") ? NOW + random.pick(-1, 1) : random.pick(0, 0, 1)
          // some were withdrawn before their admission
          const withdrawn = Array.from({ length: random.below(4) }, () => `t${ids.length + random.below(20)}`)
          const nobody = contextOf(random, 0, 0)
          for (const store of stores) {
            yield* store.run(put, { keys, now, context: NO_CONTEXT, call: { field, value } })
            yield* store.run(queueRules.withdraw, { keys, now, context: nobody, call: { ids: withdrawn } })
          }
          const context = contextOf(random, random.below(9), random.pick(0, 3, 10, 1_000))
          const batch = Array.from({ length: 1 + random.below(40) }, (): Ask<QueueContext, Newcomer> => {
            const id = `t${ids.length}`
            ids.push(id)
            const call = {
              id,
              data: JSON.stringify({ n: id, quote: '"\u00e9"' }),
              ...random.pick(
                { caller: "", holds: false },
                { caller: "192.0.2.1", holds: true },
                { caller: "192.0.2.1", holds: true },
                { caller: "2001:db8::/64", holds: false },
              ),
              network: random.pick("", "a", "b", "b"),
            }
            return { keys, now, context, call }
          })
          calls += batch.length
          const { one, together } = yield* ask(stores, queueRules.admit, batch)
          assertSame(together, one, `seed ${seed}, round ${round}`)
          for (const { _tag } of results(one)) outcomes.add(_tag)
        }
        yield* sameOf(stores, probe, keys, { tickets: ids, sessions: [] }, `seed ${seed}`)
      }
      assert.deepStrictEqual([...outcomes].toSorted(), ["draining", "full", "starting", "waiting"])
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )

  it.live("take units of many callers, or of one many times", () =>
    Effect.gen(function* () {
      const stores = yield* both
      yield* load(rules.take)
      let calls = 0
      const before = yield* commands
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = new Chance(seed)
        const callers = Array.from({ length: 1 + random.below(5) }, (_, n) => `joined-${seed}-${n}`)
        const context = {
          hourly: random.pick(0, 1, 5),
          daily: random.pick(0, 3, 20),
          concurrent: random.pick(0, 0, 2),
        }
        let token = 0
        let now = NOW
        for (let round = 0; round < 4; round++) {
          now += random.pick(0, 1, 3_600_000, 86_400_000)
          const omitUsage = random.percent(50)
          const batch = Array.from({ length: 1 + random.below(40) }, () => {
            const caller = callers[random.below(callers.length)] ?? ""
            const taking = { token: `k${token++}` }
            const call = omitUsage ? { ...taking, omitUsage } : taking
            return { keys: [], ownKeys: [logOf(caller)], now, context, call }
          })
          calls += batch.length
          const { one, together } = yield* ask(stores, rules.take, batch)
          assert.deepStrictEqual(together, one, `seed ${seed}, round ${round}`)
        }
        for (const caller of callers) yield* sameOf(stores, limitsProbe, [logOf(caller)], {}, caller)
      }
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )

  it.live("take and admit in one step: a newcomer refused by the limit is in no queue", () =>
    Effect.gen(function* () {
      const stores = yield* both
      yield* load(takeAndAdmit)
      let calls = 0
      const before = yield* commands
      const outcomes = new Set<string>()
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = new Chance(seed)
        const keys = campaignKeys(`chained-${seed}`)
        const callers = Array.from({ length: 1 + random.below(9) }, (_, n) => `chained-${seed}-${n}`)
        const budgets = {
          hourly: random.pick(1, 3, 5),
          daily: random.pick(0, 4, 20),
          concurrent: random.pick(0, 0, 2),
        }
        const ids: Array<string> = []
        for (let round = 0; round < 4; round++) {
          const now = NOW + round
          const context = { budgets, queue: contextOf(random, random.below(6), random.pick(3, 10, 1_000)) }
          const batch = Array.from({ length: 1 + random.below(40) }, () => {
            const id = `t${ids.length}`
            const caller = callers[random.below(callers.length)] ?? ""
            ids.push(id)
            const network = random.pick("", "a", "b", "b")
            const call = { id, caller, holds: true, data: `{"n":"${id}"}`, network }
            return { keys, ownKeys: [logOf(caller)], now, context, call }
          })
          calls += batch.length
          const { one, together } = yield* ask(stores, takeAndAdmit, batch)
          assertSame(together, one, `seed ${seed}, round ${round}`)
          for (const { _tag } of results(one)) outcomes.add(_tag)
        }
        yield* sameOf(stores, probe, keys, { tickets: ids, sessions: [] }, `seed ${seed}`)
        for (const caller of callers) yield* sameOf(stores, limitsProbe, [logOf(caller)], {}, caller)
      }
      assert.deepStrictEqual([...outcomes].toSorted(), ["full", "refused", "starting", "waiting"])
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )
})
