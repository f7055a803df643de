/** What an operator sees and does from the command line, over the console's API of a running gate. */

import { Clock, DateTime, Effect, Schedule } from "effect"
import { isKnownNumber } from "../../fifo-queue/bounds.ts"
import type { ActionOutcome } from "../../fifo-queue/operator/actions.ts"
import type { PlatformState } from "../../fifo-queue/operator/schemas.ts"
import { shortHash } from "../../fifo-queue/short-hash.ts"
import { type CampaignAction, commandTexts, FAILED_RESULTS } from "../action-words.ts"
import {
  type Campaigns,
  type FoundTicket,
  type Health,
  type Hours,
  PLATFORM_CHECK_MILLIS,
  type View,
} from "../shapes.ts"
import { type ConsoleClient, ConsoleFailed, printable } from "./console-client.ts"

export { connect } from "./console-client.ts"

/** What a command prints: the lines, or with `--json` the document. `ok` false is exit code 1. */
export interface Printed {
  readonly ok: boolean
  readonly lines: ReadonlyArray<string>
  readonly document: unknown
}

/** No page of slots and of waiting tickets. */
const NO_ROWS = { firstSlot: 0, slots: 0, firstPlace: 0, places: 0 }

type Row = Campaigns["campaigns"][number]

const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const PLATFORM: Readonly<Record<PlatformState["state"], string>> = {
  at_capacity: "platform at capacity",
  rate_limited: "platform limits the key's requests",
  unavailable: "platform unreachable",
  rejected: "platform refuses the campaign",
  webhooks_missing: "platform reports no ends of calls",
}

/** Why the platform serves nobody, with what an operator should check. */
const platformOf = ({ code, setting, since, state }: PlatformState): string =>
  `${PLATFORM[state]} since ${iso(since)}${code === "" ? "" : ` (${code})`}${
    state === "webhooks_missing"
      ? ": check the webhook's address and secret at the platform"
      : setting === ""
        ? ""
        : `: check ${setting}`
  }`

/** Empty while it is open. */
const hoursText = ({ opensAt, servedUntil, state }: Hours): string => {
  if (state === "open") return ""
  const opens = opensAt === undefined ? "" : ` until ${iso(opensAt)}`
  return `closed${opens}${servedUntil === undefined ? "" : ` (who waits is served until ${iso(servedUntil)})`}`
}

/** Which budgets are waited for, where the gate has named them. */
const budgetsText = (budgets: ReadonlyArray<string> | undefined): string =>
  budgets === undefined ? "a budget" : `the budget ${budgets.map(printable).join(" or ")}`

/** @param checkFails the last check of the platform has failed, which calls may not have noticed yet */
const stateOf = ({ figures, hours, usedUp }: Pick<Row, "figures" | "hours" | "usedUp">, checkFails = false): string => {
  if (figures === null) return "store unavailable"
  const until = figures.pausedUntil
  const paused = until === undefined ? "paused" : `paused until ${iso(until)}`
  const platform = figures.platform === undefined ? "" : PLATFORM[figures.platform.state]
  return (
    [
      hours === undefined ? "" : hoursText(hours),
      figures.paused ? paused : "",
      figures.resumesAt === undefined
        ? ""
        : `waits for ${budgetsText(figures.budgets)} until ${iso(figures.resumesAt)}`,
      figures.draining ? "draining" : "",
      usedUp === undefined ? "" : `budget ${printable(usedUp.budget)} used up until ${iso(usedUp.until)}`,
      platform,
    ]
      .filter((word) => word !== "")
      .join(", ") || (checkFails ? "open, but the check of the platform fails" : "open")
  )
}

export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)))
  return rows.map((row) =>
    row
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  )
}

/** One line each. */
export const listCampaigns = (client: Pick<ConsoleClient, "campaigns">) =>
  Effect.map(client.campaigns, (document): Printed => {
    const rows = document.campaigns.map((row) => [
      printable(row.name),
      stateOf(row),
      String(row.figures?.waiting ?? "?"),
      String(row.figures?.held ?? "?"),
      row.slots === null ? "not known" : String(row.slots),
    ])
    return { ok: true, document, lines: columns([["CAMPAIGN", "STATE", "WAITING", "HELD", "SLOTS"], ...rows]) }
  })

/** How many wait, and how many of them are not called before budgets of their own have more. */
const waitingText = (queue: View["queue"]): string => {
  if (queue === null) return "?"
  const { unpaid = 0, waiting } = queue
  return unpaid === 0 ? String(waiting) : `${waiting}, ${unpaid} of them for budgets of their own`
}

/** Of how many slots, as far as that is known. */
const ofSlots = (slots: number | null, allowed: number | undefined): string => {
  if (slots !== null) return ` of ${slots}`
  const limit = "not known, so the platform's refusal at capacity is the limit"
  return ` (slots ${limit}${allowed === undefined ? "" : `; it last refused at ${allowed}`})`
}

/** How often a gate is asked again whose checks of platform and IP provider are still running, which the first question has begun. */
const CHECKED = { schedule: Schedule.spaced("250 millis"), times: 20 }

const isPlatformOf = ({ campaign }: View, { name }: Health): boolean =>
  name === "Platform" || name === `Platform, ${campaign}`

/** Whether a look has begun a check that is not over. What is known of the instances needs no check. */
const isChecking = (view: View): boolean =>
  view.health.some(
    (health) =>
      (health.name !== "Instances" && health.state === "checking") ||
      (isPlatformOf(view, health) && health.at > 0 && view.now - health.at >= PLATFORM_CHECK_MILLIS),
  )

/** The campaign, once the checks that it shows are over, or as it is after five seconds. */
const viewChecked = (client: Pick<ConsoleClient, "view">, name: string) =>
  Effect.repeat(client.view(name, NO_ROWS), { ...CHECKED, while: isChecking })

/** A younger result needs no age (ms). */
const NEW_MILLIS = 2_000

/** When a result that is not of this moment was checked. */
const ageText = (at: number, now: number): string =>
  at === 0 || now - at < NEW_MILLIS ? "" : ` (checked ${Math.floor((now - at) / 1_000)} s ago)`

/** One campaign, and the health of the gate. */
export const showCampaign = (client: Pick<ConsoleClient, "view">, name: string) =>
  Effect.map(viewChecked(client, name), (view): Printed => {
    const { account, campaign, health, hours, instances, now, queue, slots, usedUp } = view
    const checkFails = health.some((each) => isPlatformOf(view, each) && each.state === "failed")
    return {
      ok: true,
      document: {
        now,
        campaign,
        slots,
        ...(account === undefined ? {} : { account }),
        ...(hours === undefined ? {} : { hours }),
        ...(usedUp === undefined ? {} : { usedUp }),
        health,
        instances,
        queue,
      },
      lines: [
        ...columns([
          ["campaign", printable(campaign)],
          ["state", stateOf({ ...view, figures: queue }, checkFails)],
          ...(hours?.closesAt === undefined ? [] : [["closes at", iso(hours.closesAt)]]),
          ...(queue?.platform === undefined ? [] : [["platform", printable(platformOf(queue.platform))]]),
          ["waiting", waitingText(queue)],
          ["held slots", `${queue?.held ?? "?"}${ofSlots(slots, queue?.allowed)}, ${queue?.live ?? "?"} in a call`],
          ...(queue?.account === undefined
            ? []
            : [
                [
                  "account",
                  `${printable(account ?? "")}, ${queue.account.held}${isKnownNumber(queue.account.cap) ? ` of ${queue.account.cap}` : ""} calls`,
                ],
              ]),
          ["in doubt", String(queue?.doubts ?? "?")],
          ["instances", String(instances.length)],
        ]),
        ...health.map(({ at, detail, name, state }) =>
          printable(`${name}: ${state}${detail === "" ? "" : `, ${detail}`}${ageText(at, now)}`),
        ),
      ],
    }
  })

/** Of the calls of a campaign, `ticket` is how many they are. */
const outcomeText = ({ result, ticket }: ActionOutcome): string => {
  const text = commandTexts[result]
  if (typeof text === "function") return text(printable(ticket))
  return ticket === "-" ? text : `${printable(ticket)}: ${text}`
}

const printOutcome = (document: ActionOutcome): Printed => ({
  ok: !FAILED_RESULTS.includes(document.result),
  document,
  lines: [outcomeText(document)],
})

/** Changes a campaign's state on all instances, or calls its next caller. */
export const actOn = (client: Pick<ConsoleClient, "act">, name: string, type: CampaignAction) =>
  Effect.map(client.act(name, { type }), printOutcome)

/** Ends all running calls of a campaign; without `yes` it only says how many run. */
export const endCalls = Effect.fnUntraced(function* (
  client: Pick<ConsoleClient, "act" | "view">,
  name: string,
  yes: boolean,
) {
  if (yes) return printOutcome(yield* client.act(name, { type: "end_calls" }))
  const { queue } = yield* client.view(name, NO_ROWS)
  const running =
    queue === null
      ? "It is not known how many calls run"
      : `${queue.live} ${queue.live === 1 ? "call runs" : "calls run"}`
  return yield* new ConsoleFailed({ message: `${running}. Add --yes to end all of them.` })
})

/**
 * Pauses a campaign; `until` is when the pause ends by itself (ms since 1970). An older gate ignores `until`, and its answer does not
 * repeat it: then the pause is ended, unless the campaign was paused before, and this fails.
 */
export const pauseCampaign = Effect.fnUntraced(function* (
  client: ConsoleClient,
  name: string,
  until: number | undefined,
) {
  if (until === undefined) return printOutcome(yield* client.act(name, { type: "pause" }))
  if (until <= (yield* Clock.currentTimeMillis)) {
    return yield* new ConsoleFailed({ message: "--until: expected a time in the future" })
  }
  const { queue } = yield* client.view(name, NO_ROWS)
  const outcome = yield* client.act(name, { type: "pause", until })
  if (outcome.result === "gone" || outcome.pausedUntil === until) return printOutcome(outcome)
  const older = "--until: the gate that answered has an older version, in which a pause cannot end by itself."
  if (queue?.paused !== false) {
    return yield* new ConsoleFailed({ message: `${older} The campaign is paused until you resume it.` })
  }
  yield* client.act(name, { type: "resume" })
  return yield* new ConsoleFailed({ message: `${older} The campaign was paused for a moment and is resumed.` })
})

export const reloadSettings = (client: ConsoleClient) =>
  Effect.map(client.reload, (document): Printed => {
    const named = (what: string, names: ReadonlyArray<string>) =>
      names.length === 0 ? [] : [`${what}: ${names.map(printable).join(", ")}`]
    const lines = [...named("changed", document.changed), ...named("takes effect at the next start", document.kept)]
    return { ok: true, document, lines: lines.length === 0 ? ["No setting has changed."] : lines }
  })

const HASH = /^[0-9a-f]{4,10}$/i

/** The hash that the console knows a ticket by. A whole id, which is its caller's credential, is not sent. */
const hashOf = (text: string): string => (HASH.test(text) ? text.toLowerCase() : shortHash(text))

/** Delay before a search continues when the gate has used up its budget of reads. */
const SEARCH_DELAY = "1 second"

/** Searches everything: a long search takes several requests. */
const findAll = Effect.fnUntraced(function* (client: Pick<ConsoleClient, "find">, hash: string) {
  const found = new Map<string, FoundTicket>()
  let next: string | undefined
  do {
    const answer = yield* client.find(hash, next)
    for (const each of answer.found) found.set(`${each.campaign} ${each.ticket}`, each)
    if (answer.more) return { found: [...found.values()], more: true }
    if (answer.next !== undefined && answer.next === next) yield* Effect.sleep(SEARCH_DELAY)
    next = answer.next
  } while (next !== undefined)
  return { found: [...found.values()], more: false }
})

const find = (client: Pick<ConsoleClient, "find">, id: string) =>
  Effect.filterOrFail(
    findAll(client, hashOf(id)),
    ({ found }) => found.length > 0,
    () =>
      new ConsoleFailed({
        message: `No ticket ${hashOf(id)} waits or holds a slot. A ticket that is over is not found.`,
      }),
  )

const lineOf = ({ budgets, campaign, position, resumesAt, since, state, ticket }: FoundTicket): string => {
  const place = position === undefined ? state : `${state}, place ${position}`
  const awaited =
    resumesAt === undefined ? "" : `, waits for ${budgetsText(budgets)}, at the latest until ${iso(resumesAt)}`
  return printable(`${ticket}  ${campaign}  ${place}${since > 0 ? `, since ${iso(since)}` : ""}${awaited}`)
}

/** The tickets whose hash begins with `id`, or the one with this id. */
export const showTicket = (client: Pick<ConsoleClient, "find">, id: string) =>
  Effect.map(
    find(client, id),
    (document): Printed => ({
      ok: true,
      document,
      lines: [...document.found.map(lineOf), ...(document.more ? ["More tickets match: enter more characters."] : [])],
    }),
  )

/** Rows read before and after the one where a ticket was found, because rows move while others leave. */
const AROUND = 50

/** What the rule needs to act on exactly this ticket, as it is now; undefined when it has moved on. */
const actionFor = Effect.fnUntraced(function* (client: ConsoleClient, { campaign, row, state, ticket }: FoundTicket) {
  const first = Math.max(0, row - AROUND)
  const rows = { firstSlot: first, slots: 2 * AROUND, firstPlace: first, places: 2 * AROUND }
  const { queue } = yield* client.view(campaign, rows)
  if (state === "waiting") {
    const place = queue?.waitingPage.find((each) => each.ticket === ticket)
    return place && { type: "remove" as const, seq: place.seq }
  }
  const slot = queue?.slotPage.find((each) => each.ticket === ticket && each.state === state)
  return slot && { type: "end" as const, lease: slot.lease, deadline: slot.deadline }
})

/** Removes one ticket. A ticket whose call starts, runs or is in doubt is removed only with `endCall`. */
export const removeTicket = Effect.fnUntraced(function* (client: ConsoleClient, id: string, endCall: boolean) {
  const { found, more } = yield* find(client, id)
  const [ticket] = found
  if (ticket === undefined || found.length > 1 || more) {
    return yield* new ConsoleFailed({ message: ["Several tickets match:", ...found.map(lineOf)].join("\n") })
  }
  if (!endCall && !["waiting", "called"].includes(ticket.state)) {
    return yield* new ConsoleFailed({ message: `${lineOf(ticket)}\nIt is in a call. Add --end-call to end the call.` })
  }
  const action = yield* actionFor(client, ticket)
  return action === undefined
    ? printOutcome({ result: "gone", ticket: ticket.ticket })
    : printOutcome(yield* client.act(ticket.campaign, action))
})
