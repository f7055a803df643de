/** Fills a queue with tickets without connections. */

import { Redis } from "ioredis"
import type { Newcomer } from "../../../src/fifo-queue/inputs.ts"
import { keysOf } from "../../../src/fifo-queue/keys.ts"
import type { QueueContext } from "../../../src/fifo-queue/rules/shared/step.ts"
import { rules } from "../../../src/fifo-queue/rules.ts"
import { dataOfConfig } from "../../../src/gatekeeper/calls/stored-config.ts"
import { argumentsOf, MAX_CALLS_PER_COMMAND } from "../../../src/store/redis/batch.ts"
import type { RedisServer } from "../../../test/harness/redis.ts"

const data = dataOfConfig({
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  clientIdentifier: "shop-42",
  dynamicVariables: { name: "Ada", page: "/cart" },
  metadata: {},
  audio: {},
})

/** Whether the callers share networks (IPv4 /24), 256 in each, or each has one of its own. */
export type Networks = "shared" | "own"

const newcomer = (n: number, networks: Networks): Newcomer => {
  const network =
    networks === "shared"
      ? `${101 + (n >> 24)}.${(n >> 16) & 255}.${(n >> 8) & 255}`
      : `${11 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`
  const id = `${String(n).padStart(8, "0")}AbCdEfGhIjKlMnabcd`
  return { id, data, caller: `${network}.${n & 255}`, holds: true, network }
}

/** No ticket is called, and every ticket is present for an hour. */
const context: QueueContext = {
  slots: 0,
  share: 0.25,
  maxLength: 10_000_000,
  instance: "instance",
  holder: 1,
  channel: "vg:i:",
  windowMillis: 30_000,
  graceMillis: 3_600_000,
  seenMillis: 3_602_000,
  callMillis: 7_200_000,
}

/** Queues `count` tickets, with the gate's own rule. @param share `Queue.NetworkShare` */
export const fill = async (
  redis: RedisServer,
  count: number,
  networks: Networks = "shared",
  share: number = context.share,
): Promise<void> => {
  const client = new Redis(redis.url)
  try {
    const sha = String(await client.script("LOAD", rules.admit.lua))
    const keys = keysOf("business-1/campaign-1")
    for (let from = 0; from < count; ) {
      const pipeline = client.pipeline()
      for (let n = 0; n < 100 && from < count; n++) {
        const many = Math.min(MAX_CALLS_PER_COMMAND, count - from)
        const calls = Array.from({ length: many }, (_, k) => newcomer(from + k, networks)).flatMap((call) =>
          argumentsOf(call, rules.admit.texts),
        )
        pipeline.evalsha(sha, keys.length, ...keys, Date.now(), JSON.stringify({ ...context, share }), ...calls)
        from += many
      }
      await pipeline.exec()
    }
  } finally {
    client.disconnect()
  }
}
