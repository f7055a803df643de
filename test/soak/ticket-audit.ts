/**
 * Reads every ended ticket from the store before it is deleted. Its record has its ranks in the orders of acceptance (`seq`) and of
 * slots (`lease`), so the complete orders can be compared at the end, and every accepted ticket must have ended exactly once.
 */

import type { Redis } from "ioredis"
import { DOUBT_MILLIS } from "../../src/fifo-queue/bounds.ts"
import { RETENTION_MILLIS } from "../../src/fifo-queue/rules/shared/line.ts"
import type { Ticket } from "../../src/fifo-queue/rules/shared/ticket.ts"
import { type GrantedSlot, orderViolations } from "../model/order.ts"
import { isDoubt, TERMINAL } from "../model/queue-state.ts"
import type { Ledger } from "./ledger.ts"
import { CAMPAIGN } from "./store-figures.ts"

/** Instances' clocks differ, and records arrive during a read. */
const OVERLAP_MILLIS = 5_000

export interface TicketAudit {
  /** Reads tickets that ended since the last call. Must be called more often than tickets are deleted. */
  readonly read: () => Promise<void>
  /** Compares the orders after everything has ended. */
  readonly conclude: () => Promise<void>
}

/**
 * `wentBack` returns how many starts of a ticket failed, so that it was called again, later than its rank, and how many of these were
 * in doubt and held their own slot. `maxSlots` is how many slots a network may hold while others wait.
 */
export const makeTicketAudit = (
  redis: Redis,
  ledger: Ledger,
  wentBack: (ticket: string) => { readonly times: number; readonly doubts: number },
  maxSlots: number,
  forget: (ticket: string) => void,
): TicketAudit => {
  let since = 0
  let recent = new Map<string, number>()
  const seqs: Array<number> = []
  const given: Array<GrantedSlot> = []
  const returned: Array<GrantedSlot> = []

  const read = async (): Promise<void> => {
    const page = await redis.zrangebyscore(`${CAMPAIGN}forget`, since - OVERLAP_MILLIS, "+inf", "WITHSCORES")
    const fresh = new Map<string, number>()
    for (let i = 0; i < page.length; i += 2) {
      const id = page[i] ?? ""
      if (!recent.has(id)) fresh.set(id, Number(page[i + 1]))
    }
    if (fresh.size === 0) return
    const ids = [...fresh.keys()]
    const records = await redis.hmget(`${CAMPAIGN}tickets`, ...ids)
    for (const [i, id] of ids.entries()) {
      const record = records[i] ?? null
      if (record === null) {
        ledger.problem("tickets deleted too early", id)
        continue
      }
      const { accepted, lease, network = "", seq, since: slotSince = 0, state }: Ticket = JSON.parse(record)
      if (!TERMINAL.has(state)) ledger.problem("ended tickets in a state that is not terminal", record)
      // the slot of a start in doubt whose session was found running: not a ticket, and it ends with the session
      else if (isDoubt(id)) ledger.count(`starts in doubt that ran, ${state}`)
      else ledger.count(`tickets ${state}`)
      if (isDoubt(id)) continue
      seqs.push(seq)
      if (lease !== undefined) {
        const { doubts, times } = wentBack(id)
        const from = times > 0 ? accepted : slotSince
        const until = (fresh.get(id) ?? 0) - RETENTION_MILLIS
        const slot = { lease: Number(lease), seq, network, from, until }
        ;(times > 0 ? returned : given).push(slot)
        // a start in doubt may hold its slot although its ticket has another, or has ended
        for (let n = 0; n < doubts; n++) returned.push({ ...slot, until: until + DOUBT_MILLIS })
      }
      forget(id)
    }
    since = Math.max(...fresh.values())
    recent = new Map([...recent, ...fresh].filter(([, at]) => at >= since - 2 * OVERLAP_MILLIS))
  }

  return {
    read,
    conclude: async () => {
      await read()
      const accepted = Number((await redis.hget(`${CAMPAIGN}meta`, "seq")) ?? 0)
      ledger.count("tickets accepted", accepted)
      const once = new Set(seqs)
      if (once.size !== accepted || seqs.length !== accepted) {
        ledger.problem(
          "tickets lost or ended twice",
          `${accepted} accepted, ${seqs.length} over, ${once.size} different`,
        )
      }
      const wrong = orderViolations(given, returned, maxSlots)
      for (const what of wrong) ledger.problem("order violations", what)
      ledger.count("slots given in order", given.length - wrong.length)
    },
  }
}

/** How often tickets are read (ms). */
export const READ_INTERVAL_MILLIS = Math.min(15_000, RETENTION_MILLIS / 10)
