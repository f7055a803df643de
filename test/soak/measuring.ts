/** Takes the measurements of a soak, under load and at rest. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Redis } from "ioredis"
import { type GateProcess, minimumOf } from "./gate-process.ts"
import type { Ledger } from "./ledger.ts"
import type { Load } from "./load.ts"
import type { AtRest, Sample } from "./measured.ts"
import type { Sessions } from "./sessions.ts"
import { auditKeys, storeFigures } from "./store-figures.ts"

const MINUTE = 60_000
/** A lost end is detected, or its slot reclaimed, within the longest call plus a sweep. */
const SETTLE_MILLIS = 7 * MINUTE
/** The gate closes idle connections of clients after 65 s, and those to the platform after 5 s. */
const QUIET_MILLIS = 90_000
/** Ticks and sweeps of a gate at rest are a second or two apart, so some samples fall between them. */
const SAMPLES = 8
const SAMPLE_INTERVAL_MILLIS = 730

export interface Measuring {
  /** Starts the count of minutes. */
  readonly begin: () => void
  readonly sample: () => Promise<Sample>
  /** The minimum of several samples, and an audit of every key. */
  readonly atRest: () => Promise<AtRest>
  /** Waits until there are no callers and every slot is free; false on a timeout. */
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

  const takeSample = async (atRest: boolean): Promise<Sample> => ({
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
    sample: () => takeSample(false),
    atRest: async () => {
      const samples: Array<Sample> = []
      for (let n = 0; n < SAMPLES; n++) {
        samples.push(await takeSample(true))
        await sleep(SAMPLE_INTERVAL_MILLIS)
      }
      const minimum = gates.map((_, i) => minimumOf(samples.flatMap(({ gates: each }) => each[i] ?? [])))
      return { ...(await takeSample(false)), gates: minimum, audit: await auditKeys(redis, Date.now()) }
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
