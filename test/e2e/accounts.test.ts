/** Campaigns of one account, whose callers call through two processes: on a Redis, and on a Redis Cluster. */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { makeCaller, runCaller } from "../chaos/support/caller.ts"
import { type ChaosPlatform, startChaosPlatform } from "../chaos/support/platform.ts"
import { Chance } from "../harness/chance.ts"
import { type Bench, type Gate, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startCluster } from "../harness/redis-topologies.ts"
import { reload, settings, settingsFile } from "./support/reload.ts"

const CAMPAIGNS = ["campaign-1", "campaign-2"]
const CAP = 4

interface Shared {
  readonly cap: number
  readonly reserved: number
}

/** Two campaigns, each of which could have all slots of the account alone; the second has reserved ones. */
const settingsOf = (store: string, platform: ChaosPlatform, { cap, reserved }: Shared) => {
  const given = settings({
    store,
    platform,
    slots: 9,
    campaigns: { second: { WebCampaignId: "campaign-2", Account: { Name: "shared", ReservedSlots: reserved } } },
  })
  const { VoiceAiPlatform, ...others } = given
  return {
    ...others,
    VoiceAiPlatform: { ...Object(VoiceAiPlatform), Account: { Name: "shared", MaxConcurrency: cap } },
  }
}

const gateOf = (gates: ReadonlyArray<Gate>, n: number): Gate => {
  const gate = gates[n % gates.length]
  if (gate === undefined) throw new Error("no gate runs")
  return gate
}

const start = async (bench: Bench, store: string) => {
  const gates: Array<Gate> = []
  const chance = new Chance(17)
  const platform = bench.own(
    await startChaosPlatform({
      chance,
      webhook: async (id) => {
        const { json, status } = await gateOf(gates, chance.below(gates.length)).sessionEnded(id)
        return { status, released: json.released === true }
      },
    }),
  )
  const file = settingsFile(bench)
  const write = (shared: Shared): void => file.write(settingsOf(store, platform, shared))
  write({ cap: CAP, reserved: 1 })
  const add = async (): Promise<void> => {
    const gate = await bench.gate({}, ["--config", file.path])
    await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
    gates.push(gate)
  }
  await Promise.all([add(), add()])
  return { gates, platform, write, add }
}

type World = Awaited<ReturnType<typeof start>>

/** Callers of both campaigns, at all gates; resolves when each has talked. */
const crowd = async ({ gates, platform }: World, callers: number): Promise<void> => {
  const wrongs: Array<string> = []
  const outcomes = await Promise.all(
    Array.from({ length: callers }, async (_, n) => {
      const caller = makeCaller(n)
      await runCaller(caller, {
        name: n,
        chance: new Chance(n),
        campaignId: CAMPAIGNS[n % 2],
        entrances: () => gates.map(({ url }) => url),
        talk: platform.talk,
        talkMillis: 200 + ((n * 37) % 300),
        reactMillis: 20,
        startsOver: "http",
        reports: false,
        takesOffers: false,
        stopped: () => false,
        wrong: (what) => wrongs.push(what),
      })
      return caller.outcome
    }),
  )
  assert.deepStrictEqual(wrongs, [])
  assert.deepStrictEqual(new Set(outcomes), new Set(["talked"]))
}

/** Takes all slots of the account by both campaigns; how many calls started. */
const takeAll = async ({ gates, platform }: World, cap: number): Promise<number> => {
  const answers = await Promise.all(
    Array.from({ length: cap + 2 }, (_, n) =>
      gateOf(gates, n).call(`198.19.0.${n + 1}`, {
        campaignId: CAMPAIGNS[n % 2],
        clientIdentifier: `last-${n}`,
      }),
    ),
  )
  for (const [n, answer] of answers.entries()) {
    if (answer.status === 200) void platform.talk(textOf(answer, "sessionId"), 300)
    else await gateOf(gates, n).ask("DELETE", `/api/session/${textOf(answer, "uniqueRequestId")}`)
  }
  return answers.filter(({ status }) => status === 200).length
}

const settled = ({ platform }: World): Promise<void> =>
  eventually("all calls are over", () => platform.running() === 0 && platform.untold() === 0)

describe.concurrent("two processes whose campaigns share an account", { timeout: 180_000 }, () => {
  it(
    "never exceed its cap while both start calls, one dies, and a reload shrinks it",
    withBench(async (bench) => {
      const redis = bench.own(await startRedis())
      const world = await start(bench, redis.url)
      const { add, gates, platform, write } = world
      const talking = crowd(world, 30)
      await eventually("half of the calls", () => platform.sessions.length > 10)
      const [dying] = gates.splice(0, 1)
      dying?.kill("SIGKILL")
      await sleep(500)
      await add()
      await talking
      await settled(world)
      // how many run at once depends on the machine; that all slots can be taken is shown next
      assert.isAtMost(platform.peak().running, CAP)
      assert.strictEqual(await takeAll(world, CAP), CAP)
      await settled(world)

      write({ cap: 2, reserved: 1 })
      await Promise.all(gates.map((gate) => reload(gate)))
      let most = 0
      const watching = setInterval(() => {
        most = Math.max(most, platform.running())
      }, 5)
      await crowd(world, 12)
      clearInterval(watching)
      assert.isAtMost(most, 2)
      await settled(world)
      assert.strictEqual(await takeAll(world, 2), 2)
      await settled(world)
      // what the dead process had noted of the account is gone too
      const left = await redis.command(
        "eval",
        "local n = 0 for _, k in ipairs(redis.call('KEYS', '*:account')) do n = n + redis.call('HLEN', k) end return n",
        "0",
      )
      assert.strictEqual(left.trim(), "0")
    }),
  )

  it(
    "never exceed it on a Redis Cluster, where the account is one hash slot",
    withBench(async (bench) => {
      const cluster = bench.own(await startCluster())
      const world = await start(bench, cluster.url)
      await crowd(world, 16)
      await settled(world)
      assert.isAtMost(world.platform.peak().running, CAP)
      assert.strictEqual(await takeAll(world, CAP), CAP)
      await settled(world)
    }),
  )
})
