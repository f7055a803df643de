/** What the commands `address …` and `campaign history` print: who asks most, who is blocked, and what happened in a campaign. */
import { Clock, DateTime, Effect } from "effect"
import type { CampaignHistory, HistoryRange } from "../shapes.ts"
import { type ConsoleClient, ConsoleFailed, printable } from "./console-client.ts"
import { columns, type Printed } from "./run.ts"

const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The addresses that ask most, and those that are blocked. */
export const listAddresses = (client: Pick<ConsoleClient, "asking">) =>
  Effect.map(client.asking, (document): Printed => {
    const blocked = new Set(document.blocks.map(({ address }) => address))
    const asking = document.addresses.map(({ address, refused, requests }) => [
      ...[printable(address), String(requests), String(refused), blocked.has(address) ? "blocked" : ""],
    ])
    const blocks = document.blocks.map(({ address, at, by, until }) => [
      ...[printable(address), until === 0 ? "lifted" : iso(until), iso(at), printable(by)],
    ])
    return {
      ok: true,
      document,
      lines: [
        ...(asking.length === 0
          ? ["No requests in the last hour."]
          : columns([["ADDRESS", "REQUESTS", "REFUSED", ""], ...asking])),
        "",
        ...(blocks.length === 0
          ? ["No address is blocked."]
          : columns([["BLOCKED", "UNTIL", "SINCE", "BY"], ...blocks])),
      ],
    }
  })

const RESULTS = {
  done: undefined,
  already: "It was not blocked.",
  full: "Nothing was blocked: as many addresses are blocked as may be. Lift a block first.",
} as const

/** Blocks an address, a network or the hash of one until a time (ms since 1970) or for good (0), or lifts the block (undefined). */
const order = (client: Pick<ConsoleClient, "block">, address: string, until: number | undefined, done: string) =>
  Effect.map(
    client.block(address, until),
    (document): Printed => ({
      ok: document.result !== "full",
      document,
      lines: [RESULTS[document.result] ?? done],
    }),
  )

/** @param millis for how long; 0 for no end */
export const blockAddress = Effect.fnUntraced(function* (
  client: Pick<ConsoleClient, "block">,
  address: string,
  millis: number,
) {
  if (millis < 0) return yield* new ConsoleFailed({ message: "--for: expected a time above 0" })
  const until = millis === 0 ? 0 : (yield* Clock.currentTimeMillis) + millis
  const end = until === 0 ? "until the block is lifted" : `until ${iso(until)}`
  return yield* order(client, address, until, `${printable(address)} is blocked at all campaigns ${end}.`)
})

export const liftBlock = (client: Pick<ConsoleClient, "block">, address: string) =>
  order(client, address, undefined, `The block of ${printable(address)} is lifted.`)

const sumOf = (counts: CampaignHistory["buckets"][number]["counts"], prefix: string): number =>
  Object.entries(counts).reduce((sum, [name, number]) => (name.startsWith(prefix) ? sum + number : sum), 0)

/** One line for each step of the range in which an instance reported. */
export const showHistory = (client: Pick<ConsoleClient, "history">, campaign: string, range: HistoryRange) =>
  Effect.map(client.history(campaign, range), (document): Printed => {
    const rows = document.buckets.map(({ at, counts }) => [
      ...[iso(at), String(counts["max.waiting"] ?? 0), String(counts["max.held"] ?? 0)],
      ...[String(sumOf(counts, "wait.")), String(sumOf(counts, "over.")), String(sumOf(counts, "refused."))],
    ])
    const head = ["FROM", "WAITING (MOST)", "SLOTS (MOST)", "CALLED", "ENDED", "REFUSED"]
    return {
      ok: true,
      document,
      lines: rows.length === 0 ? ["No instance has reported in this time."] : columns([head, ...rows]),
    }
  })
