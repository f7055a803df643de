/**
 * How often tickets may be asked about, each a minute (`Security.StatusPerMinute`). A ticket that this instance knows has budgets of its
 * own, so nobody else can use them up: neither another caller behind the same address, nor one of the same network. Budgets of addresses
 * and networks are for tickets that this instance does not know, which may be guesses.
 *
 * When those of a network are used up, each of its addresses may still ask a few times, and a called ticket can always be
 * started.
 */

import { Clock, Context, Effect, Layer } from "effect"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { RecentSet } from "../../lib/recent-set.ts"
import { makeWindows } from "../../lib/windows.ts"
import { currentSettings } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { type Answer, askedTooOften } from "../answers/answer.ts"
import { TICKETS_PATH } from "../incoming/paths.ts"
import { localRateLimit } from "./local-rate-limit.ts"

/** What is done with a ticket; each is counted apart, so that a client that polls too often can still start its call. */
export type TicketUse = "read" | "action" | "rejoin" | "events" | "command"

/** Lookups of unknown tickets that each address of a network has left when the network's are used up. */
export const RESERVED_PER_MINUTE = 6
/** … of all addresses of the network together: as many as an IPv4 /24 can use. */
const RESERVED_NETWORK_FACTOR = 256
/**
 * The limit of a network for negotiating and opening connections of the hub, as a multiple of that of an address. No ticket is named
 * there, so a network must not use it up for one of its callers easily.
 */
const HUB_NETWORK_FACTOR = 50
/** How many tickets are known at least: those that were used last. */
const KNOWN = 50_000
const MINUTE = 60_000

/** Takes a unit of an address, and returns its refusal when it has none left. An unknown address is refused elsewhere. */
type Take = (address: string | undefined) => Answer | undefined

export class TicketLimits extends Context.Service<
  TicketLimits,
  {
    /** Takes a unit for this use; returns the refusal if there is none. Takes one of the address where the ticket is not known. */
    readonly use: (ticket: string, use: TicketUse, address: string | undefined) => Answer | undefined
    /**
     * What came of a use: the ticket is known from now on, and the address gets its unit back; or there is none; or nothing (undefined).
     */
    readonly answered: (ticket: string, address: string | undefined, exists: boolean | undefined) => void
    readonly isKnown: (ticket: string) => boolean
    /** A new ticket. */
    readonly learn: (ticket: string) => void
    /** Whether the ticket is called, so that its start is allowed however many others ask. */
    readonly isCalled: (ticket: string) => Effect.Effect<boolean>
    /** negotiations of the hub, since each writes a token for a minute to the store */
    readonly negotiation: Take
    /** connections to the hub, since each may write a browser's tickets for a day to the store */
    readonly hubConnection: Take
  }
>()("voicegate/http/TicketLimits") {}

/** Only these are remembered; any other spelling of a path is looked up as an unknown ticket each time. */
const TICKET = /^[\w-]{16,64}$/

/** The ticket that a path names, as it is written there; empty for none. */
export const ticketIn = (path: string): string =>
  path.startsWith(TICKETS_PATH) ? (path.slice(TICKETS_PATH.length).split("/", 1)[0] ?? "") : ""

/** Whether a ticket exists, by the answer to a connection for its events; undefined if the answer does not tell. */
export const existsBy = (answer: Answer | undefined): boolean | undefined => {
  if (answer === undefined) return true
  return answer.outcome === "ticket_unknown" ? false : undefined
}

/** The limits of this process. */
export const layer: Layer.Layer<TicketLimits, never, Gatekeeper | Settings> = Layer.effect(
  TicketLimits,
  Effect.gen(function* () {
    const settings = yield* currentSettings
    const perMinute = (): number => settings().Security.StatusPerMinute
    const clock = yield* Clock.Clock
    const { isCalled } = yield* Gatekeeper
    const known = new RecentSet(KNOWN)
    /** the uses of known tickets, counted apart by use */
    const newUses = () => makeWindows(MINUTE, KNOWN)
    const uses = { read: newUses(), action: newUses(), rejoin: newUses(), events: newUses(), command: newUses() }
    const unknown = yield* localRateLimit(perMinute)
    const reserve = yield* localRateLimit(() => (perMinute() === 0 ? 0 : RESERVED_PER_MINUTE), RESERVED_NETWORK_FACTOR)
    const refusal = (seconds: number): Answer | undefined => (seconds === 0 ? undefined : askedTooOften(seconds))

    const makeLimit = Effect.map(
      localRateLimit(perMinute, HUB_NETWORK_FACTOR),
      (limit): Take =>
        (address) =>
          address === undefined ? undefined : refusal(limit.take(address, clock.currentTimeMillisUnsafe())),
    )

    const useKnown = (ticket: string, use: TicketUse, now: number): Answer | undefined => {
      const limit = perMinute()
      if (limit === 0) return undefined
      const windows = uses[use]
      if (windows.used(ticket, now) >= limit) return refusal(Math.ceil((windows.endsAt(ticket, now) - now) / 1000))
      windows.add(ticket, now)
      return undefined
    }

    const useUnknown = (address: string, now: number): Answer | undefined => {
      const seconds = unknown.take(address, now)
      if (seconds === 0) return undefined
      const isOwnUsedUp = unknown.ownRetryAfter(address, now) > 0
      return isOwnUsedUp || reserve.take(address, now) > 0 ? refusal(seconds) : undefined
    }

    return TicketLimits.of({
      use: (ticket, use, address) => {
        const now = clock.currentTimeMillisUnsafe()
        if (known.use(ticket)) return useKnown(ticket, use, now)
        return address === undefined ? undefined : useUnknown(address, now)
      },
      answered: (ticket, address, exists) => {
        if (exists === undefined) return
        if (!exists) {
          // it was forgotten: whoever asks for it next asks for an unknown one
          known.delete(ticket)
        } else if (TICKET.test(ticket) && !known.has(ticket)) {
          known.add(ticket)
          if (address !== undefined) unknown.giveBack(address, clock.currentTimeMillisUnsafe())
        }
      },
      learn: (ticket) => known.add(ticket),
      isKnown: (ticket) => known.has(ticket),
      isCalled,
      negotiation: yield* makeLimit,
      hubConnection: yield* makeLimit,
    })
  }),
)
