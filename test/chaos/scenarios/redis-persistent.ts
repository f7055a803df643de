/**
 * kill -9 of Redis with an append-only file that is written before each answer (`always`) or once a second
 * (`everysec`). With `everysec` also the loss of the machine, which takes what was not synced: the last second of the
 * file is cut off.
 */
import { readdir, stat, truncate } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type RedisServer, startRedis } from "../../harness/redis.ts"
import type { Caller } from "../support/caller.ts"
import { lostCallers } from "../support/failover.ts"
import { inWords, judge, peaksInWords } from "../support/judge.ts"
import { orderBack, inWords as timesInWords } from "../support/order.ts"
import { makeRig, type Rig } from "../support/rig.ts"
import type { Row, Scenario, Size } from "../support/scenario.ts"

const SIZES = {
  small: { gates: 1, callers: 60, slots: 5, kills: 1 },
  full: { gates: 2, callers: 300, slots: 10, kills: 3 },
}

/** The file that Redis currently appends to, and its length. */
const appended = async (redis: RedisServer): Promise<{ readonly file: string; readonly length: number }> => {
  const dir = (await redis.command("config", "get", "dir")).split("\n")[1] ?? ""
  const files = await readdir(join(dir, "appendonlydir"))
  const file = join(dir, "appendonlydir", files.find((name) => name.endsWith(".incr.aof")) ?? "")
  return { file, length: (await stat(file)).size }
}

/** What the store had acknowledged and lost, of what must persist: accepted tickets and ended sessions. */
const lostOf = async (rig: Rig): Promise<{ readonly tickets: number; readonly ends: number }> => {
  const tickets = (await lostCallers(rig)).length
  // a session that ends while the store is read may be missing there
  const ended = rig.platform.sessions.filter(({ released }) => released)
  const state = await rig.view.look()
  const ends = ended.filter(
    ({ conversationId, webId }) =>
      state?.endedSessions.has(webId) === false && state.endedSessions.has(conversationId) === false,
  ).length
  return { tickets, ends }
}

/** Whether the caller has sent its start and not been answered. */
const isStarting = ({ outcome, startedAt, turn }: Caller): boolean =>
  turn?.sentAt !== undefined && startedAt === undefined && outcome === undefined

const killed = async (
  size: Size,
  seed: number,
  how: "always" | "everysec" | "power loss",
  bench: Parameters<Scenario["run"]>[2],
): Promise<Row> => {
  const { callers, gates, kills, slots } = SIZES[size]
  const args = how === "always" ? [] : ["--appendfsync", "everysec"]
  const redis = bench.own(await startRedis({ persistent: true, args }))
  const rig = await makeRig({
    seed,
    bench,
    storeUrl: redis.url,
    gates,
    slots,
    joinMillis: 5_000,
    startMillis: 200,
    calledAnew: how === "power loss",
  })
  const { chance } = rig
  const crowd = rig.crowd({ callers, arriveMillis: kills * 2_000, talkMillis: [200, 800] })
  const backs: Array<string> = []
  const unanswered = new Set<Caller>()
  let tickets = 0
  let ends = 0
  for (let n = 0; n < kills; n++) {
    await sleep(chance.between(1_000, 2_500))
    const before = how === "power loss" ? await appended(redis) : undefined
    if (before !== undefined) await sleep(1_000)
    redis.kill("SIGKILL")
    const since = performance.now()
    for (const caller of crowd.callers) if (isStarting(caller)) unanswered.add(caller)
    await sleep(chance.between(300, 1_500))
    if (before !== undefined) await truncate(before.file, before.length)
    await redis.restart()
    const back = await orderBack(rig, since)
    const lost = await lostOf(rig)
    tickets += lost.tickets
    ends += lost.ends
    backs.push(timesInWords(back))
  }
  await crowd.done(200_000)
  const strict = how !== "power loss"
  // a start whose answer was cut off by the kill is in doubt: its caller is called again, or it fails by its deadline
  const outcomes = strict ? ["failed"] : ["failed", "missed", "unknown", "dead session", "reclaimed"]
  const verdict = await judge(rig, { outcomes, rollback: !strict, unanswered })
  const lostAny =
    strict && tickets + ends > 0 ? [`${tickets} accepted tickets and ${ends} ended sessions were lost`] : []
  return {
    fault:
      how === "power loss"
        ? `loss of the machine of Redis, appendfsync everysec: the last second of the file is gone, ${kills} times`
        : `kill -9 of Redis, appendfsync ${how}, ${kills} times, under ${callers} callers`,
    promised: strict
      ? "nothing acknowledged is lost; requests meanwhile are answered 503"
      : "what was acknowledged in the last second may be lost; its callers are told, slots come back, the order of the others holds",
    seen: `${inWords(verdict.outcomes)}; lost: ${tickets} accepted tickets, ${ends} ends of sessions; ${peaksInWords(verdict, rig)}; ${inWords(verdict.troubles)}`,
    back: backs.join(" · "),
    wrongs: [...lostAny, ...verdict.wrongs],
  }
}

export const redisAlways: Scenario = {
  name: "redis-always",
  run: async (size, seed, bench) => [await killed(size, seed, "always", bench)],
}

export const redisEverysec: Scenario = {
  name: "redis-everysec",
  run: async (size, seed, bench) => [await killed(size, seed, "everysec", bench)],
}

export const redisPowerLoss: Scenario = {
  name: "redis-power-loss",
  run: async (size, seed, bench) => [await killed(size, seed, "power loss", bench)],
}
