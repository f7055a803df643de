/**
 * Rules that Redis refuses in their middle: it does not undo what they have written before. The campaign is closed then, and what was left
 * half-done is put back when the rules work again.
 */

import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, type Scope } from "effect"
import { FifoQueue } from "../../../src/fifo-queue/FifoQueue.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import { layer as queueLayer } from "../../../src/fifo-queue/layer.ts"
import { HASHES, SETS, TEXTS } from "../../../src/fifo-queue/rules/check-keys.ts"
import { queueKeys } from "../../../src/fifo-queue/rules/shared/keys.ts"
import type { CampaignContext } from "../../../src/fifo-queue/step.ts"
import { layer } from "../../../src/store/redis/layer.ts"
import { TRIED } from "../../../src/store/redis/permissions.ts"
import { type RedisServer, redisServer } from "../../harness/redis.ts"
import { settingsWith } from "../../harness/settings.ts"
import { connectionTo } from "../../harness/stores.ts"

const WAITING = 30
const callers = Array.from({ length: WAITING }, (_, i) => `t${String(i).padStart(2, "0")}`)
const LATE = "u"
const ORDER = [...SETS, ...HASHES]

const test = (name: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(name, () => Effect.provide(Effect.scoped(body()), Logger.layer([])), 120_000)

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

/** A campaign in which 30 wait, at a gate whose user may do everything. */
const campaign = Effect.fnUntraced(function* (server: RedisServer) {
  const command = (...args: ReadonlyArray<string>) => Effect.tryPromise(() => server.command(...args))
  yield* command("acl", "setuser", "app", "reset", "on", ">pw", "~vg:*", "&vg:*", "+@all")
  const store = Layer.unwrap(Effect.sync(() => layer(connectionTo(`redis://app:pw@127.0.0.1:${server.port}`))))
  const built = yield* Layer.build(Layer.fresh(Layer.provide(queueLayer, [store, settingsWith()])))
  const queue = Context.get(built, FifoQueue)
  const id = `main/${randomUUID()}`
  let slots = 0
  const at = (): CampaignContext => ({ campaign: id, slots, instance: "here" })
  const keys = queueKeys(keysOf(id))
  const admit = (ticket: string) =>
    queue.admit(at(), { id: ticket, caller: ticket, holds: false, network: "", data: "{}" })
  yield* queue.sweep(at())
  for (const ticket of callers) yield* admit(ticket)
  return {
    queue,
    at,
    keys,
    admit,
    command,
    setSlots: (to: number) => {
      slots = to
    },
    sweeps: (times: number) =>
      Effect.forEach(Array.from({ length: times }), () => Effect.exit(queue.sweep(at()))).pipe(
        Effect.map((exits) => exits.every(Exit.isSuccess)),
      ),
    line: Effect.map(command("zrange", keys.waiting, "0", "-1"), lines),
    called: Effect.map(command("zrange", keys.leases, "0", "-1"), (ids) => lines(ids).toSorted()),
  }
})

describe("a campaign whose rules Redis refuses", () => {
  it("tries every key of the campaign", () => {
    assert.deepStrictEqual([...HASHES, ...SETS, ...TEXTS].toSorted(), Object.keys(queueKeys([])).toSorted())
  })

  test("loses none of 30 who wait, whichever command its user may not use any more, and calls them in order afterwards", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      for (const name of new Set(TRIED.map(([command]) => command.toLowerCase()))) {
        const q = yield* campaign(server)
        yield* q.command("acl", "setuser", "app", `-${name}`)
        q.setSlots(3)
        // rules that fail at any place: sweeps call, starts and leaves move tickets
        const sweeps = yield* q.sweeps(3)
        for (const ticket of callers.slice(3, 6)) yield* Effect.exit(q.queue.leave(q.at(), ticket))
        for (const ticket of callers.slice(0, 3)) yield* Effect.exit(q.queue.start(q.at(), ticket))
        const late = yield* Effect.exit(q.admit(LATE))
        const again = yield* q.sweeps(2)
        yield* q.command("acl", "setuser", "app", `+${name}`)
        assert.isTrue(yield* q.sweeps(3), `${name}: open again`)
        // what every caller is told: waiting, called, started, or has left
        const told = yield* Effect.forEach(callers, (ticket) => q.queue.attach(q.at(), ticket, true))
        const states = told.map(({ result }) => result._tag)
        assert.notInclude(states, "unknown", name)
        const [line, called] = [yield* q.line, yield* q.called]
        const left = callers.filter((_, i) => states[i] === "ended")
        const held = called.filter((each) => callers.includes(each))
        assert.deepStrictEqual(
          [...held, ...line.filter((each) => callers.includes(each)), ...left].toSorted(),
          callers,
          `${name}: each is in one place`,
        )
        assert.deepStrictEqual(line, line.toSorted(), `${name}: in order`)
        assert.deepStrictEqual(held, callers.filter((each) => !left.includes(each)).slice(0, held.length), name)
        // either nothing needs the command, or the gate has noticed
        if (!sweeps) assert.isFalse(again, name)
        if (Exit.isFailure(late)) assert.notInclude(line, LATE)
      }
    }))

  test("is closed by a key of a wrong type, whichever it is, names the key, and is open again without it", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      // a gate that has found the key looks again after a while: most of the time is waiting
      yield* Effect.forEach(
        ORDER,
        Effect.fnUntraced(function* (name) {
          const q = yield* campaign(server)
          const key = q.keys[name]
          yield* q.command("rename", key, `${key}:aside`).pipe(Effect.ignore)
          yield* q.command("set", key, "1")
          q.setSlots(1)
          assert.isFalse(yield* q.sweeps(1), name)
          const failed = yield* Effect.flip(q.queue.sweep(q.at()))
          assert.strictEqual(failed.refusal, "WRONGTYPE", name)
          assert.include(String(failed.cause), key, name)
          // nobody is admitted, and the store is not asked
          const refused = yield* Effect.flip(q.admit(LATE))
          assert.deepStrictEqual([refused.refusal, refused.unasked], ["WRONGTYPE", true], name)
          yield* q.command("del", key)
          yield* q.command("rename", `${key}:aside`, key).pipe(Effect.ignore)
          assert.isTrue(yield* q.sweeps(2), name)
          assert.deepStrictEqual([...(yield* q.called), ...(yield* q.line)], callers, name)
        }),
        { concurrency: 6, discard: true },
      )
    }))

  test("is closed by a counter that is not a number, names it, and loses nobody", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      for (const field of ["lease", "seq"]) {
        const q = yield* campaign(server)
        const [was] = lines(yield* q.command("hget", q.keys.meta, field))
        yield* q.command("hset", q.keys.meta, field, "junk")
        q.setSlots(1)
        yield* Effect.exit(q.admit(LATE))
        yield* q.sweeps(3)
        const failed = yield* Effect.exit(q.queue.sweep(q.at()))
        if (field === "lease") assert.include(JSON.stringify(failed), `field ${field}`)
        if (was === undefined) yield* q.command("hdel", q.keys.meta, field)
        else yield* q.command("hset", q.keys.meta, field, was)
        assert.isTrue(yield* q.sweeps(2), field)
        assert.deepStrictEqual([...(yield* q.called), ...(yield* q.line)], callers, field)
      }
    }))

  test("puts back tickets whose records stand in no set, page by page, at their places", () =>
    Effect.gen(function* () {
      const server = yield* redisServer()
      const q = yield* campaign(server)
      const more = Array.from({ length: 1_000 }, (_, i) => `u${String(i).padStart(4, "0")}`)
      yield* Effect.forEach(more, q.admit, { concurrency: 100 })
      const before = yield* q.line
      for (const key of [q.keys.waiting, q.keys.presence]) yield* q.command("zrem", key, ...before.slice(10, 900))
      const repair = q.queue.repair?.(q.at()) ?? Effect.die("this queue repairs nothing")
      assert.strictEqual(yield* repair, 890)
      assert.deepStrictEqual(yield* q.line, before)
      assert.strictEqual(yield* repair, 0)
    }))
})
