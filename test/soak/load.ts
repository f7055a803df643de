/** Generates callers at the plan's rate, independent of the state of earlier ones (an open system). */
import { setTimeout as sleep } from "node:timers/promises"
import { Chance } from "../harness/chance.ts"
import { ask } from "../harness/http.ts"
import { callerOf, REGULARS, rateAt, regularAddress } from "./plan.ts"
import { Visit } from "./visit.ts"
import type { World } from "./world.ts"

export interface Load {
  /** Generates callers for this time; they may stay longer. */
  readonly run: (minutes: number) => Promise<void>
  readonly active: () => number
}

export const makeLoad = (seed: number, world: World): Load => {
  const chance = new Chance(seed)
  let callers = 0
  let active = 0

  const visit = async (): Promise<void> => {
    const caller = callerOf(seed, callers++)
    active++
    try {
      await new Visit(world, caller).run()
    } catch (error) {
      world.ledger.problem("broken connections", `${JSON.stringify(caller)}: ${String(error)}`)
    } finally {
      active--
    }
  }

  return {
    active: () => active,
    run: async (minutes) => {
      const began = performance.now()
      let at = 0
      while (at < minutes * 60_000) {
        // exponential gaps of a Poisson process, never zero
        const share = (1 + chance.below(1_000_000)) / 1_000_000
        at += (-Math.log(share) * 1_000) / rateAt(at, minutes)
        const wait = at - (performance.now() - began)
        if (wait > 1) await sleep(wait)
        void visit()
      }
    },
  }
}

/** A divisor of `REGULARS`. */
const CONCURRENCY = 10

/** Sends a request from every address to every gate while the campaign drains, which fills the gates' caches of addresses. */
export const introduceAddresses = async (world: World): Promise<void> => {
  const introduce = async (index: number): Promise<void> => {
    const headers = { "x-forwarded-for": regularAddress(index) }
    for (const { agent, url } of world.gates()) {
      const { status, text } = await ask("POST", `${url}/api/session/request`, { body: {}, headers, agent })
      if (status !== 503) throw new Error(`a draining gate answered ${status} ${text}`)
    }
  }
  for (let i = 0; i < REGULARS; i += CONCURRENCY) {
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, n) => introduce(i + n)))
  }
}
