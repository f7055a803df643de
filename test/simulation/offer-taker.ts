/**
 * A caller who takes one of the things that are offered to those who would wait long: leaves for a number or a page, or asks another campaign and
 * gives up the place only for a place or a call there.
 */
import { Exit } from "effect"
import { Gatekeeper, type RequestError } from "../../src/gatekeeper/Gatekeeper.ts"
import type { Offer, OfferKind } from "../../src/protocol/offers.ts"
import type { Caller } from "./callers.ts"
import { errorOf, type Gate } from "./gate.ts"
import { CAMPAIGNS, type CampaignName } from "./settings.ts"

/** How often leaving is tried. */
const MOST_TRIES = 4

export class OfferTaker {
  private readonly caller: Caller
  private hasTaken = false

  constructor(caller: Caller) {
    this.caller = caller
  }

  /** A request was answered with a place in the queue. */
  told(gate: Gate, answer: Extract<RequestError, { readonly _tag: "Queued" }>): void {
    this.caller.world.watch.offers?.queued(gate, answer.uniqueRequestId, answer)
    if (answer.offers !== undefined) this.take(answer.uniqueRequestId, answer.offers)
  }

  /** Takes one of the things that are offered to a ticket, the first time. */
  take(ticket: string, offers: ReadonlyArray<Offer>): void {
    const { caller } = this
    const { plan, world } = caller
    const offer = offers[world.chance(`takes which ${plan.id}`, Math.max(1, offers.length))]
    if (offer === undefined || this.hasTaken || plan.takes === undefined || plan.takes < 0) return
    this.hasTaken = true
    caller.later(plan.takes, () => {
      if (!caller.waitsWith(ticket)) return
      if (offer.kind !== "campaign") return this.leaveFor(ticket, offer.kind)
      const target = CAMPAIGNS.find((name) => name === offer.target)
      // a token leads to one ticket, and this page has one token
      if (target !== undefined && world.plan.control.identity?.singleUse !== true) this.askInstead(ticket, target)
    })
  }

  /** Leaves for something that was offered. */
  private leaveFor(ticket: string, kind: OfferKind, tries = 0): void {
    const { caller } = this
    const { plan, world } = caller
    const gate = caller.gate(plan.gate + tries)
    const again = (): void => {
      if (tries + 1 < MOST_TRIES) caller.retry(() => this.leaveFor(ticket, kind, tries + 1))
    }
    if (gate === undefined) {
      again()
      return
    }
    world.note(`caller ${plan.id} leaves for a ${kind}`)
    world.watch.ledger.leaves(ticket)
    // the page goes on with another campaign
    if (kind !== "campaign") world.platform.pageLeft(plan.id)
    const asked = world.kernel.now
    gate.ask(
      `leave ${plan.id} for ${kind} ${tries}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.leave(ticket, kind)),
      (exit) => (Exit.isFailure(exit) ? again() : world.watch.offers?.left(ticket, asked)),
      again,
    )
  }

  /** Asks another campaign, and gives up the place only for a place or a call there. */
  private askInstead(former: string, campaign: CampaignName): void {
    const { caller } = this
    const { address, plan, world } = caller
    const gate = caller.gate(plan.gate)
    if (gate === undefined) return
    const request = caller.nextRequest()
    world.note(`caller ${request} asks ${gate.name} for ${campaign} instead`)
    const body = caller.bodyOf(request, campaign)
    gate.ask(
      `request ${request}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.request(body, { address })),
      (exit) => {
        const { ledger } = world.watch
        if (Exit.isSuccess(exit)) {
          ledger.started(exit.value.uniqueRequestId, exit.value.sessionId, request)
          caller.talks(exit.value.uniqueRequestId)
          return this.leaveFor(former, "campaign")
        }
        const error = errorOf(exit)
        world.note(`caller ${request} hears ${error?._tag}`)
        if (error?._tag === "PlatformUnavailable") ledger.refused(request)
        if (error?._tag === "StoreUnavailable") ledger.heardUnavailable(request, gate)
        if (error?._tag !== "Queued") return
        ledger.queued(error.uniqueRequestId, request)
        this.told(gate, error)
        caller.queued(error.uniqueRequestId)
        this.leaveFor(former, "campaign")
      },
    )
  }
}
