/** Gates that die one after the other while callers come, and with them the master of the store. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Killable } from "./killable.ts"
import type { Rig } from "./rig.ts"

/**
 * Kills so many gates, each after its wait (ms), and starts each again a moment later. The campaign's master dies just before the second one, where
 * it has a replica. Returns when that was (ms, by `performance.now`).
 */
export const killGates = async (
  { chance, seats }: Pick<Rig, "chance" | "seats">,
  kills: number,
  killMaster: Killable["kill"],
  wait: (n: number) => number = () => chance.between(1_000, 2_000),
): Promise<number | undefined> => {
  let failedAt: number | undefined
  for (let n = 0; n < kills; n++) {
    await sleep(wait(n))
    if (n === 1 && killMaster !== undefined) {
      failedAt = performance.now()
      await killMaster()
    }
    const seat = seats[chance.below(seats.length)]
    await seat?.kill("SIGKILL")
    await sleep(chance.between(200, 1_000))
    await seat?.start()
    await seat?.ready()
  }
  return failedAt
}
