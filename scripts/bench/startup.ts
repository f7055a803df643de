/** Time from the start to readiness (with a connected store), compared with a bare server's first answer. */
import { setTimeout as sleep } from "node:timers/promises"
import { startRedis } from "../../test/harness/redis.ts"
import { startPlatform } from "./support/platform.ts"
import { type Found, ratio } from "./support/report.ts"
import { type Server, startGate, startYardstick } from "./support/servers.ts"

const STARTS = 5

/** Milliseconds until the path answers with 200. */
const untilReady = async (begin: () => Promise<Server>, path: string): Promise<number> => {
  const began = performance.now()
  const server = await begin()
  try {
    while ((await fetch(server.url + path)).status !== 200) await sleep(1)
    return performance.now() - began
  } finally {
    await server.stop()
  }
}

export const startup = async (rounds: number): Promise<Found> => {
  const redis = await startRedis()
  const platform = await startPlatform()
  const of: Record<"node" | "gate", Array<number>> = { node: [], gate: [] }
  try {
    // fills the compile cache, as after an installation
    await untilReady(() => startGate(redis.url, platform.url, { IpIntel__Provider: "none" }), "/health/ready")
    for (let n = 0; n < rounds * STARTS; n++) {
      of.node.push(await untilReady(() => startYardstick("node", ""), "/"))
      of.gate.push(
        await untilReady(() => startGate(redis.url, platform.url, { IpIntel__Provider: "none" }), "/health/ready"),
      )
    }
  } finally {
    platform.close()
    await redis.dispose()
  }
  const figures = { name: "ready", unit: "ms after the start", of }
  return { figures: [figures], ratios: [ratio(figures, "gate", "node", { atMost: 2.5 })] }
}
