/**
 * Reads every ticket that is over from the store while it is remembered there. Its record has its place in the order of
 * acceptance (`seq`) and of being given a slot (`lease`), so at the end both orders can be compared whole, and every ticket
 * that was ever accepted must have come up, once.
 */
import type { Redis } from "ioredis"
import { DOUBT_MILLIS } from "../../src/rules/doubt.ts"
import { RETENTION_MILLIS } from "../../src/rules/line.ts"
import type { EndState, State, Ticket } from "../../src/rules/ticket.ts"
import type { Ledger } from "./ledger.ts"
import { type Given, orderViolations } from "./order.ts"
import { CAMPAIGN } from "./store-figures.ts"

/** Instances write times of their own, and records arrive while one reads. */
const OVERLAP_MILLIS = 5_000

export interface TicketAudit {
  /** Reads what ended since the last time. To be called more often than tickets are forgotten. */
  readonly read: () => Promise<void>
  /** Compares, when everything is over. */
  readonly conclude: () => Promise<void>
}

const ENDED: { readonly [S in EndState]: true } = {
  ended: true,
  left: true,
  abandoned: true,
  missed: true,
  failed: true,
  reclaimed: true,
  removed: true,
}
const isEnd = (state: State): state is EndState => state in ENDED

/**
 * `wentBack` says of a ticket how often a start of it did not come about, so that it was called again, later than its place says,
 * and how many of these were in doubt and held a slot of their own. `most` is how many slots a network may hold while others wait.
 */
export const makeTicketAudit = (
  redis: Redis,
  ledger: Ledger,
  wentBack: (ticket: string) => { readonly times: number; readonly doubts: number },
  most: number,
  forget: (ticket: string) => void,
): TicketAudit => {
  let since = 0
  let recent = new Map<string, number>()
  const seqs: Array<number> = []
  const given: Array<Given> = []
  const returned: Array<Given> = []

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
        ledger.problem("tickets forgotten too early", id)
        continue
      }
      const { accepted, lease, network = "", seq, since: slotSince = 0, state }: Ticket = JSON.parse(record)
      if (!isEnd(state)) ledger.problem("tickets over in no terminal state", record)
      // the slot of a start in doubt whose session turned out to run: no ticket, and its end is that of the session
      else if (id.startsWith("?")) ledger.count(`starts in doubt that ran, ${state}`)
      else ledger.count(`tickets ${state}`)
      if (id.startsWith("?")) continue
      seqs.push(seq)
      if (lease !== undefined) {
        const { doubts, times } = wentBack(id)
        const from = times > 0 ? accepted : slotSince
        const until = (fresh.get(id) ?? 0) - RETENTION_MILLIS
        const slot = { lease: Number(lease), seq, network, from, until }
        ;(times > 0 ? returned : given).push(slot)
        // a start in doubt may hold its slot when its ticket has another, or is over
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
          "tickets lost or over twice",
          `${accepted} accepted, ${seqs.length} over, ${once.size} different`,
        )
      }
      const wrong = orderViolations(given, returned, most)
      for (const what of wrong) ledger.problem("order violations", what)
      ledger.count("slots given in order", given.length - wrong.length)
    },
  }
}

/** Tickets are read so often. */
export const READ_MILLIS = Math.min(15_000, RETENTION_MILLIS / 10)
