/** The stores of scenarios that run on each kind of Redis, and how the server dies that has the campaign. */
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import type { Bench } from "../../harness/gate.ts"
import { startRedis } from "../../harness/redis.ts"
import { startCluster, startSentinel } from "../../harness/redis-topologies.ts"

/** What names the campaign of the scenarios in the store. */
export const KEY = "business-1/campaign-1"

export interface Killable {
  readonly url: string
  /** kill -9 of the campaign's master, whose replica takes over; absent where there is none */
  readonly kill?: () => Promise<unknown>
}

export const onRedis = async (bench: Bench): Promise<Killable> => {
  const { url } = bench.own(await startRedis())
  return { url }
}

export const onSentinel = async (bench: Bench): Promise<Killable> => {
  const sentinels = bench.own(await startSentinel(3, 500))
  return { url: sentinels.url, kill: async () => sentinels.master.kill("SIGKILL") }
}

export const onCluster = async (bench: Bench): Promise<Killable> => {
  const cluster = bench.own(await startCluster(3, 1))
  const kill = async () => (await cluster.masterOf(keysOf(KEY)[0] ?? "")).kill("SIGKILL")
  return { url: cluster.url, kill }
}
