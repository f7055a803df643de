/** Callers: each follows its action, using only what the gates tell it. */

import { Effect, Exit } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import { type Opened, PushChannel } from "../../src/push-channel/PushChannel.ts"
import { errorOf, type Gate } from "./gate.ts"
import { Link } from "./link.ts"
import { OfferTaker } from "./offer-taker.ts"
import type { Arrive } from "./plan.ts"
import type { CampaignName } from "./settings.ts"
import { tokenTextOf } from "./tokens.ts"
import type { World } from "./world.ts"

/** How long a caller waits before it retries after a gate failed (ms). */
const RETRY_MILLIS = 700
const MOST_CONNECTS = 6
/** The number of networks that callers come from. */
const NETWORKS = 3
const MOST_STARTS = 6

export const addressOf = ({ address }: Arrive): string => `198.20.${address % NETWORKS}.${address}`

export class Caller {
  readonly links = new Set<Link>()
  readonly world: World
  readonly plan: Arrive
  readonly address: string
  private readonly offers: OfferTaker
  private ticket: string | undefined
  private requests = 0
  private connects = 0
  private starts = 0
  private over = false
  private away = false
  private readonly obeyed = new Set<string>()
  /** tickets that had a connection */
  private readonly connected = new Set<string>()

  constructor(world: World, plan: Arrive) {
    this.world = world
    this.plan = plan
    this.address = addressOf(plan)
    this.offers = new OfferTaker(this)
  }

  /** A gate that is up: this one, or the next. */
  gate(preferred: number): Gate | undefined {
    const { gates } = this.world
    for (let n = 0; n < gates.length; n++) {
      const gate = gates[(preferred + n) % gates.length]
      if (gate?.up === true) return gate
    }
    return undefined
  }

  /** pending actions of this caller */
  private plans = 0

  /** nothing more is expected of this caller */
  get done(): boolean {
    return this.plans === 0
  }

  /** Does this later; -1 is never. */
  later(millis: number, run: () => void): void {
    if (millis < 0) return
    this.plans++
    this.world.kernel.after(millis, () => {
      this.plans--
      run()
    })
  }

  /** Tries again, after a gate has failed. */
  retry(run: () => void): void {
    this.later(RETRY_MILLIS, run)
  }

  /** Names the next request. */
  nextRequest(): string {
    return `${this.plan.id}.${this.requests++}`
  }

  /** What is asked for, with the caller's token. */
  bodyOf(request: string, campaignId: CampaignName): object {
    const identity = tokenTextOf(this.plan)
    return {
      campaignId,
      clientIdentifier: `caller ${this.plan.id}`,
      metadata: { request },
      ...(identity === undefined ? {} : { identity }),
    }
  }

  /** Whether it waits with this ticket, and its page is there. One that starts its call takes no offer any more. */
  waitsWith(ticket: string): boolean {
    return !this.over && !this.away && this.ticket === ticket && this.starts === 0
  }

  request(): void {
    const { plan, world } = this
    const request = this.nextRequest()
    const again = (): void => {
      if (this.requests <= plan.retries) this.retry(() => this.request())
    }
    const gate = this.gate(plan.gate)
    if (gate === undefined) {
      again()
      return
    }
    world.note(`caller ${request} asks ${gate.name}`)
    const body = this.bodyOf(request, plan.campaign)
    const hangUp = gate.ask(
      `request ${request}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.request(body, { address: this.address })),
      (exit) => {
        if (Exit.isSuccess(exit)) {
          world.watch.ledger.started(exit.value.uniqueRequestId, exit.value.sessionId, request)
          return this.talks(exit.value.uniqueRequestId)
        }
        const error = errorOf(exit)
        world.note(`caller ${request} hears ${error?._tag}`)
        switch (error?._tag) {
          case "Queued":
            world.watch.ledger.queued(error.uniqueRequestId, request)
            this.offers.told(gate, error)
            return this.queued(error.uniqueRequestId)
          case "PlatformUnavailable":
            world.watch.ledger.refused(request)
            return again()
          case "Draining":
            return again()
          case "StoreUnavailable":
            world.watch.ledger.heardUnavailable(request, gate)
            return again()
          case "QueueFull":
            return world.watch.offers?.refused(gate, plan.campaign, error._tag, error.offers)
          case "RateLimited":
          case undefined:
            return
          case "Closed":
            world.watch.offers?.refused(gate, plan.campaign, error._tag, error.offers)
            if (!world.watch.mayRefuse(gate, plan.campaign))
              world.fail(`H3: caller ${request} is refused as closed, and the campaign is open`)
            return
          case "BudgetExhausted":
            world.watch.offers?.refused(gate, plan.campaign, error._tag, error.offers)
            return world.watch.budgets?.refused(`caller ${request}`, error.budget)
          case "IdentityRefused":
            return world.watch.ledger.replayed(plan.id)
          case "InvalidRequest":
            return gate.servesCampaign(plan.campaign)
              ? world.fail(`caller ${request} was refused by a gate that has the campaign`)
              : again()
          default:
            return world.fail(`caller ${request} was refused with ${error?._tag}`)
        }
      },
      again,
    )
    if (plan.hangUp >= 0 && this.requests === 1) this.later(plan.hangUp, hangUp)
    if (plan.token !== undefined && this.requests === 1 && world.plan.control.identity?.singleUse === true)
      this.later(plan.token.replay, () => this.replay())
  }

  /** Somebody sends the token once more. */
  private replay(): void {
    const { plan, world } = this
    const token = tokenTextOf(plan)
    const gate = this.gate(plan.gate + 1)
    if (gate === undefined || token === undefined) return
    const request = this.nextRequest()
    world.note(`the token of caller ${plan.id} is sent again to ${gate.name}`)
    const body = { campaignId: plan.campaign, metadata: { request }, identity: token }
    gate.ask(
      `replay ${plan.id}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.request(body, { address: "198.20.99.1" })),
      (exit) => {
        const { ledger } = world.watch
        if (Exit.isSuccess(exit)) return ledger.started(exit.value.uniqueRequestId, exit.value.sessionId, undefined)
        const error = errorOf(exit)
        if (error?._tag === "Queued") ledger.queued(error.uniqueRequestId, request)
        if (error?._tag === "IdentityRefused") ledger.replayed(plan.id)
        if (error?._tag === "StoreUnavailable") ledger.heardUnavailable(request, gate)
      },
    )
  }

  /** Its call was started. */
  talks(ticket: string): void {
    this.over = true
    this.ticket = ticket
    // asking again during the call returns the same call
    if (this.plan.rejoin >= 0) this.later(this.plan.rejoin, () => this.rejoin(ticket))
  }

  /** It has a place, and does from now on what its action says. */
  queued(ticket: string): void {
    const { plan } = this
    this.ticket = ticket
    this.later(plan.connect, () => this.connect(plan.gate + this.world.chance(`connect ${plan.id}`, 3)))
    this.later(plan.early, () => this.start(plan.gate, true))
    this.later(plan.leave, () => this.leave(0))
    this.later(plan.rejoin, () => this.rejoin(ticket))
    if (plan.poll >= 0) this.later(plan.poll, () => this.poll(ticket, 0))
  }

  private connect(preferred: number): void {
    const { ticket, world } = this
    if (this.over || this.away || ticket === undefined || this.connects++ >= MOST_CONNECTS) return
    const gate = this.gate(preferred)
    if (gate === undefined) {
      this.retry(() => this.connect(preferred))
      return
    }
    const link = new Link(ticket, gate, !this.connected.has(ticket))
    this.connected.add(ticket)
    for (const other of this.links) if (other.ticket === ticket) other.isOnly = false
    const again = (): void => this.retry(() => this.connect(preferred + 1))
    const stop = gate.watched(() => {
      this.links.delete(link)
      link.open = false
      if (link.heard) again()
    })
    const shut = (): void => {
      stop()
      link.open = false
      this.links.delete(link)
      world.watch.ledger.sign(ticket)
    }
    const connection = {
      send: (sent: PushEvent) => {
        for (const event of world.planted?.pushed?.(sent, link) ?? [sent]) {
          if (event.type === "start_call") link.told.add(event.startBefore)
          if (event.type === "position") link.place = event.position
          world.watch.offers?.pushed(link, event)
          this.later(1 + world.chance(`event ${ticket} ${world.millis()}`, 20), () => this.hear(link, event))
        }
      },
      backlog: () => 0,
      ping: () => link.heard,
      close: () => {
        shut()
        // the peer notices a moment later
        this.later(20, () => {
          if (link.heard) again()
        })
      },
    }
    world.note(`caller ${this.plan.id} connects to ${gate.name}`)
    let opened: Opened | undefined
    this.links.add(link)
    gate.ask(
      `connect ${this.plan.id} ${this.connects}`,
      Effect.gen(function* () {
        const channel = yield* PushChannel
        opened = yield* channel.open(ticket, "203.0.113.0", connection)
        const event = yield* Effect.tapError(
          Gatekeeper.use((gatekeeper) => gatekeeper.attach(ticket)),
          () => Effect.sync(() => opened?.close()),
        )
        // as the transports do with a connection that has closed meanwhile
        if (!link.open) return opened.close()
        link.attached = world.kernel.now
        if (event !== undefined) opened.send(event)
      }),
      (exit) => {
        if (Exit.isSuccess(exit)) return
        shut()
        if (errorOf(exit)?._tag === "StoreUnavailable") again()
      },
    )
    if (this.plan.vanish >= 0 && this.connects === 1) {
      this.later(this.plan.vanish, () => {
        world.note(`caller ${this.plan.id} vanishes${this.plan.silently ? " silently" : ""}`)
        link.heard = false
        this.away = true
        if (!this.plan.silently && link.open) {
          world.kernel.after(
            5,
            () => {
              opened?.close()
              shut()
            },
            gate.process,
          )
        }
        this.later(this.plan.comeBack, () => {
          this.away = false
          this.connect(this.plan.gate + 1)
        })
      })
    }
  }

  private hear(link: Link, event: PushEvent): void {
    if (!link.heard || !link.gate.process.alive) return
    // what was left for an offer is not waited for any more
    if (event.type === "ended" && link.ticket === this.ticket) this.over = true
    if (event.type === "offer") this.offers.take(link.ticket, event.offers)
    if (event.type === "warning" && event.endsAt !== null)
      this.world.watch.warned(link.ticket, Date.parse(event.endsAt))
    if (event.type !== "start_call" || this.obeyed.has(event.startBefore)) return
    this.obeyed.add(event.startBefore)
    const { plan } = this
    if (plan.hidden) this.sayHidden(link)
    this.later(plan.react, () => this.start(link.gate.index))
    // changes its mind while the start is in flight
    if (plan.react >= 0 && this.world.chance(`leaves ${plan.id}`, 12) === 0)
      this.later(plan.react + 60, () => this.leave(0))
    if (plan.twice >= 0 && plan.react >= 0)
      this.later(plan.react + plan.twice, () => this.start(link.gate.index + 1, true))
  }

  /** The page is hidden: the turn lasts longer. It is told of the later end, which is no further start call. */
  private sayHidden({ gate, ticket }: Link): void {
    this.world.note(`caller ${this.plan.id} says that its page is hidden`)
    gate.ask(
      `hidden ${this.plan.id}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.attach(ticket, true)),
      (exit) => {
        if (Exit.isSuccess(exit) && exit.value?.type === "start_call") this.obeyed.add(exit.value.startBefore)
      },
    )
  }

  private start(preferred: number, regardless = false): void {
    const { ticket, world } = this
    if ((this.over && !regardless) || this.away || ticket === undefined || this.starts++ >= MOST_STARTS) return
    const gate = this.gate(preferred)
    const again = (): void => this.retry(() => this.start(preferred + 1))
    if (gate === undefined) {
      again()
      return
    }
    world.note(`caller ${this.plan.id} starts on ${gate.name}`)
    gate.ask(
      `start ${this.plan.id} ${this.starts}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.start(ticket)),
      (exit) => {
        if (Exit.isSuccess(exit)) {
          world.watch.ledger.started(ticket, exit.value.sessionId, undefined)
          this.over = true
          return
        }
        const error = errorOf(exit)
        world.note(`caller ${this.plan.id} cannot start: ${error?._tag}`)
        if (error?._tag === "PlatformUnavailable") world.watch.ledger.refused(ticket)
        if (error?._tag === "BudgetExhausted") world.watch.budgets?.refused(ticket, error.budget)
        if (error?._tag === "TicketUnknown") world.fail(`I3: ${ticket} is not known any more`)
        if (error?._tag === "StoreUnavailable" || error?._tag === "Draining") again()
      },
      again,
    )
  }

  /** Its call is over: the page leaves. */
  callEnded(): void {
    if (!this.away) this.leave(0, true)
  }

  private leave(tries: number, regardless = false): void {
    const { ticket, world } = this
    if ((this.over && !regardless) || ticket === undefined) return
    const gate = this.gate(this.plan.gate)
    const again = (): void => {
      if (tries < 3) this.retry(() => this.leave(tries + 1, regardless))
    }
    if (gate === undefined) {
      again()
      return
    }
    world.note(`caller ${this.plan.id} leaves`)
    world.watch.ledger.leaves(ticket)
    world.platform.pageLeft(this.plan.id)
    gate.ask(
      `leave ${this.plan.id} ${tries}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.leave(ticket)),
      (exit) => (Exit.isFailure(exit) ? again() : undefined),
      again,
    )
  }

  private rejoin(ticket: string): void {
    const gate = this.gate(this.plan.gate + 1)
    if (gate === undefined) return
    const known = this.world.watch.ledger.isAlive(ticket)
    if (!known) return
    const token = tokenTextOf(this.plan)
    const body = {
      campaignId: this.plan.campaign,
      uniqueRequestId: ticket,
      ...(token === undefined ? {} : { identity: token }),
      metadata: { request: this.nextRequest() },
    }
    gate.ask(
      `rejoin ${this.plan.id}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.request(body, { address: this.address })),
      (exit) => {
        if (Exit.isSuccess(exit))
          return this.world.watch.ledger.started(exit.value.uniqueRequestId, exit.value.sessionId, undefined)
        const error = errorOf(exit)
        if (error?._tag === "Queued" && !error.called) this.offers.told(gate, error)
      },
    )
  }

  private poll(ticket: string, times: number): void {
    if (this.over || this.away || times > 5) return
    const gate = this.gate(this.plan.gate + times)
    const asked = this.world.kernel.now
    gate?.ask(
      `poll ${this.plan.id} ${times}`,
      Gatekeeper.use((gatekeeper) => gatekeeper.status(ticket, this.plan.hidden)),
      (exit) => {
        if (Exit.isSuccess(exit) && exit.value.state === "waiting") {
          this.world.watch.offers?.polled(gate, ticket, asked, exit.value)
          if (exit.value.offers !== undefined) this.offers.take(ticket, exit.value.offers)
        }
        if (errorOf(exit)?._tag === "TicketUnknown") this.world.fail(`I3: ${ticket} is not known any more`)
      },
    )
    this.later(this.plan.poll, () => this.poll(ticket, times + 1))
  }
}
