/** Takes the figures of a soak, under load and at rest. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Redis } from "ioredis"
import { type GateProcess, leastOf } from "./gate-process.ts"
import type { Ledger } from "./ledger.ts"
import type { Load } from "./load.ts"
import type { AtRest, Sample } from "./measured.ts"
import type { Sessions } from "./sessions.ts"
import { auditKeys, storeFigures } from "./store-figures.ts"

const MINUTE = 60_000
/** A lost end is found, or its slot reclaimed, within the longest call and a sweep. */
const SETTLE_MILLIS = 7 * MINUTE
/** Idle connections of clients are closed by the gate after 65 s, those to the platform after 5 s. */
const QUIET_MILLIS = 90_000
/** Ticks and sweeps of a gate at rest are a second or two apart, so some looks fall between them. */
const LOOKS = 8
const LOOK_MILLIS = 730

export interface Measuring {
  /** Minutes count from here. */
  readonly begin: () => void
  readonly sample: () => Promise<Sample>
  /** The least of several looks, and a look at every key. */
  readonly atRest: () => Promise<AtRest>
  /** Waits until nobody calls and every slot is free again; false when that takes too long. */
  readonly drained: () => Promise<boolean>
  /** Waits until idle connections are closed. */
  readonly quiet: () => Promise<void>
}

export const makeMeasuring = (
  gates: ReadonlyArray<GateProcess>,
  redis: Redis,
  sessions: Sessions,
  load: Load,
  ledger: Ledger,
): Measuring => {
  let began = performance.now()

  const look = async (atRest: boolean): Promise<Sample> => ({
    minute: (performance.now() - began) / MINUTE,
    gates: await Promise.all(gates.map((gate) => gate.figures(atRest))),
    store: await storeFigures(redis),
    callsStarted: ledger.of("calls started"),
    active: load.active(),
    running: sessions.running,
  })

  return {
    begin: () => {
      began = performance.now()
    },
    sample: () => look(false),
    atRest: async () => {
      const looks: Array<Sample> = []
      for (let n = 0; n < LOOKS; n++) {
        looks.push(await look(true))
        await sleep(LOOK_MILLIS)
      }
      const least = gates.map((_, i) => leastOf(looks.flatMap(({ gates: each }) => each[i] ?? [])))
      return { ...(await look(false)), gates: least, audit: await auditKeys(redis, Date.now()) }
    },
    drained: async () => {
      const deadline = performance.now() + SETTLE_MILLIS
      while (performance.now() < deadline) {
        const { sizes } = await storeFigures(redis)
        if (load.active() === 0 && sessions.running === 0 && sizes.leases === 0 && sizes.waiting === 0) return true
        await sleep(2_000)
      }
      return false
    },
    quiet: async () => {
      for (const { agent } of gates) agent.destroy()
      await sleep(QUIET_MILLIS)
    },
  }
}
