/**
 * What the Redis store sends as one command does what its calls do one after the other: calls of one turn on Redis, and the
 * same calls in a row on the memory store, must answer alike and leave the same.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { ADMIT_ARGS, admit } from "../../src/queue/admit.ts"
import { keysOf as campaignKeys, KEY_COUNT } from "../../src/queue/step.ts"
import { withdraw } from "../../src/queue/withdraw.ts"
import { keysOf as callerKeys, scripts, TAKE_ARGS } from "../../src/RateLimiter.ts"
import { type Reply, type Script, Store } from "../../src/Store.ts"
import { chain } from "../../src/store/chain.ts"
import { list } from "../../src/store/reply.ts"
import { limitsProbe } from "../simulation/limits.ts"
import { probe } from "../support/queue-probe.ts"
import { type RedisServer, startRedis } from "../support/redis.ts"
import { memoryStore, redisStore } from "../support/stores.ts"
import { makeRandom } from "./differential/random.ts"

const SEEDS = 60
const NOW = 1_700_000_000_000

const logOf = (caller: string): string => callerKeys(caller)[0] ?? ""

interface Call {
  readonly keys: ReadonlyArray<string>
  readonly args: ReadonlyArray<string | number>
}

/** Puts a field of the campaign's record, as an operator or a full platform would. KEYS those of a queue · ARGV field, value */
const put: Script = {
  name: "test.put",
  numberOfKeys: KEY_COUNT,
  lua: "return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) and 0",
  memory: (db, [meta = ""], [field = "", value = ""]) => {
    db.hset(meta, field, value)
    return 0
  },
}

const run = (store: Store["Service"], script: Script, { args, keys }: Call) => store.run(script, keys, args)

describe("calls that travel together", () => {
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

  /** How many scripts the server has run. */
  const commands = Effect.promise(async () => {
    const stats = (await server?.command("info", "commandstats")) ?? ""
    return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
  })

  it.live("admits as one by one, to slots, to the queue and not at all", () =>
    Effect.gen(function* () {
      const [memory, redis] = yield* both
      let calls = 0
      const before = yield* commands
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = makeRandom(seed)
        const keys = campaignKeys(`joined-${seed}`)
        const ids: Array<string> = []
        for (let round = 0; round < 4; round++) {
          const field = random.pick(["paused", "draining", "rest", "avg"])
          const value = field === "rest" ? NOW + random.pick([-1, 1]) : random.pick([0, 0, 1])
          // some that are yet to come were withdrawn
          const gone = Array.from({ length: random.below(4) }, () => `t${ids.length + random.below(20)}`)
          for (const store of [memory, redis]) {
            yield* run(store, put, { keys, args: [field, value] })
            yield* run(store, withdraw, { keys, args: [NOW + round, "0 1", "i1", "vg:i:", 30_000, ...gone] })
          }
          const slots = random.below(9)
          const share = random.pick([0.25, 0.5, 1])
          const longest = random.pick([0, 3, 10, 1_000])
          const batch = Array.from({ length: 1 + random.below(40) }, (): Call => {
            const id = `t${ids.length}`
            ids.push(id)
            const own = [
              random.pick(["", "+192.0.2.1", "-2001:db8::/64"]),
              JSON.stringify({ n: id, quote: '"\u00e9"' }),
              random.pick(["", "a", "b", "b"]),
            ]
            return {
              keys,
              args: [NOW + round, `${slots} ${share}`, "i1", "vg:i:", 30_000, id, longest, NOW + 5, NOW + 9, ...own],
            }
          })
          calls += batch.length
          const one = yield* Effect.forEach(batch, (call) => run(memory, admit, call))
          const together = yield* Effect.forEach(batch, (call) => run(redis, admit, call), { concurrency: "unbounded" })
          const results = (replies: ReadonlyArray<Reply>) => replies.map((reply) => list(reply)[0])
          const said = (replies: ReadonlyArray<Reply>, which: 1 | 2) =>
            replies.flatMap((reply) => list(list(reply)[which] ?? []))
          assert.deepStrictEqual(results(together), results(one), `seed ${seed}, round ${round}`)
          assert.deepStrictEqual(said(together, 1), said(one, 1), `signals of seed ${seed}, round ${round}`)
          assert.deepStrictEqual(said(together, 2), said(one, 2), `settlements of seed ${seed}, round ${round}`)
        }
        const look = { keys, args: [ids.length, ...ids] }
        assert.deepStrictEqual(yield* run(redis, probe, look), yield* run(memory, probe, look), `seed ${seed}`)
      }
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )

  it.live("takes units of many callers, or of one many times", () =>
    Effect.gen(function* () {
      const [memory, redis] = yield* both
      let calls = 0
      const before = yield* commands
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = makeRandom(seed)
        const callers = Array.from({ length: 1 + random.below(5) }, (_, n) => `joined-${seed}-${n}`)
        const limits = [random.pick([0, 1, 5]), random.pick([0, 3, 20]), random.pick([0, 0, 2])]
        let token = 0
        let now = NOW
        for (let round = 0; round < 4; round++) {
          now += random.pick([0, 1, 3_600_000, 86_400_000])
          const answer = random.pick(["brief", ""])
          const batch = Array.from({ length: 1 + random.below(40) }, (): Call => {
            const caller = callers[random.below(callers.length)] ?? ""
            return { keys: [logOf(caller)], args: [now, `k${token++}`, ...limits, answer] }
          })
          calls += batch.length
          const one = yield* Effect.forEach(batch, (call) => run(memory, scripts.take, call))
          const together = yield* Effect.forEach(batch, (call) => run(redis, scripts.take, call), {
            concurrency: "unbounded",
          })
          assert.deepStrictEqual(together, one, `seed ${seed}, round ${round}`)
        }
        for (const caller of callers) {
          const look = { keys: [logOf(caller)], args: [] }
          assert.deepStrictEqual(yield* run(redis, limitsProbe, look), yield* run(memory, limitsProbe, look), caller)
        }
      }
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )

  it.live("takes and admits in one step: whoever is refused by the limit is in no queue", () =>
    Effect.gen(function* () {
      const [memory, redis] = yield* both
      const enter = chain(scripts.take, TAKE_ARGS, admit, ADMIT_ARGS)
      let calls = 0
      const before = yield* commands
      const outcomes = new Set<string>()
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = makeRandom(seed)
        const campaign = campaignKeys(`chained-${seed}`)
        const callers = Array.from({ length: 1 + random.below(9) }, (_, n) => `chained-${seed}-${n}`)
        const limits = [random.pick([1, 3, 5]), random.pick([0, 4, 20]), random.pick([0, 0, 2])]
        const ids: Array<string> = []
        for (let round = 0; round < 4; round++) {
          const now = NOW + round
          const slots = random.below(6)
          const share = random.pick([0.25, 0.5, 1])
          const longest = random.pick([3, 10, 1_000])
          const answer = random.pick(["brief", ""])
          const batch = Array.from({ length: 1 + random.below(40) }, (): Call => {
            const id = `t${ids.length}`
            const caller = callers[random.below(callers.length)] ?? ""
            ids.push(id)
            const network = random.pick(["", "a", "b", "b"])
            return {
              keys: [logOf(caller), ...campaign],
              args: [
                ...[now, id, ...limits, answer],
                ...[
                  now,
                  `${slots} ${share}`,
                  "i1",
                  "vg:i:",
                  30_000,
                  id,
                  longest,
                  now + 5,
                  now + 9,
                  `+${caller}`,
                  `{"n":"${id}"}`,
                  network,
                ],
              ],
            }
          })
          calls += batch.length
          const one = yield* Effect.forEach(batch, (call) => run(memory, enter, call))
          const together = yield* Effect.forEach(batch, (call) => run(redis, enter, call), { concurrency: "unbounded" })
          const results = (replies: ReadonlyArray<Reply>) =>
            replies.map((reply) => {
              const [taken, admitted] = list(reply)
              return [taken, admitted === undefined ? "refused" : list(admitted)[0]]
            })
          assert.deepStrictEqual(results(together), results(one), `seed ${seed}, round ${round}`)
          for (const [, outcome] of results(one))
            outcomes.add(typeof outcome === "string" ? outcome : String(list(outcome)[0]))
        }
        const look = { keys: campaign, args: [ids.length, ...ids] }
        assert.deepStrictEqual(yield* run(redis, probe, look), yield* run(memory, probe, look), `seed ${seed}`)
        for (const caller of callers) {
          const budgets = { keys: [logOf(caller)], args: [] }
          assert.deepStrictEqual(yield* run(redis, limitsProbe, budgets), yield* run(memory, limitsProbe, budgets))
        }
      }
      assert.deepStrictEqual([...outcomes].toSorted(), ["full", "refused", "starting", "waiting"])
      assert.isBelow((yield* commands) - before, calls / 4)
    }).pipe(Effect.scoped),
  )
})
