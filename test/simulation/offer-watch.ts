/**
 * Watches what the gates of a history offer to those who would wait long, or are not taken: what each answer and each event says, and that a
 * connected page is told within a tick. What must hold of one telling is judged by `test/model/offers.ts`.
 */
import { TICK_MILLIS } from "../../src/fifo-queue/FifoQueue.ts"
import type { PushEvent } from "../../src/protocol/events.ts"
import type { Offer } from "../../src/protocol/offers.ts"
import { type Offerable, type ToldOfWait, wrongOffers, wrongTelling } from "../model/offers.ts"
import type { Gate } from "./gate.ts"
import type { Link } from "./link.ts"
import { MOST_LATENCY } from "./network.ts"
import type { OverflowPlan } from "./plan.ts"
import type { CampaignName } from "./settings.ts"
import type { World } from "./world.ts"

/** How late a page may be told: by the second heartbeat, which takes several steps (ms). */
const TOLD_MILLIS = 2 * TICK_MILLIS + 700

/** What an answer tells of a wait. */
interface Answer {
  readonly estimatedWaitSeconds?: number | null
  readonly offers?: ReadonlyArray<Offer>
}

export class OfferWatch {
  private readonly world: World
  private readonly plan: OverflowPlan
  private readonly saw: (what: string) => void

  constructor(world: World, plan: OverflowPlan, saw: (what: string) => void) {
    this.world = world
    this.plan = plan
    this.saw = saw
  }

  /** What a gate may offer to callers of a campaign. */
  private all(gate: Gate, campaign: CampaignName): ReadonlyArray<Offerable> {
    const { plan, watch } = this.world
    // a gate reads every 15 s what is left of budgets, so it may think that one is used up, or not yet
    const mayRefuse = plan.control.budgets !== undefined
    return this.plan.offers.flatMap((offer): ReadonlyArray<Offerable> => {
      if (offer.kind !== "campaign") return [{ offer, now: "open" }]
      if (offer.target === campaign) return []
      const isClosed = watch.isClosed(gate, offer.target)
      if (isClosed === true) return [{ offer, now: "closed" }]
      return [{ offer, now: isClosed === undefined || mayRefuse ? "unknown" : "open" }]
    })
  }

  private judge(who: string, gate: Gate, campaign: CampaignName, told: ToldOfWait): void {
    for (const wrong of wrongTelling(this.plan.afterSeconds, told, this.all(gate, campaign)))
      this.world.fail(`${wrong}: ${who}, by ${gate.name}`)
  }

  /** For how long a ticket has waited, as a gate may reckon, from a moment until now (ms). */
  private waited({ process }: Gate, accepted: number, from: number): readonly [least: number, most: number] {
    const { kernel, plan } = this.world
    const slack = 2 * plan.skewMillis + MOST_LATENCY
    return [from - process.behind.wall - accepted - slack, kernel.now - accepted + slack]
  }

  /** A caller was told to wait, by the answer to a request; only one who asks again has waited before. */
  queued(gate: Gate, ticket: string, { estimatedWaitSeconds: expected, offers }: Answer): void {
    const record = this.world.watch.recordOf(ticket)
    if (record === undefined) return
    const [, most] = this.waited(gate, record.accepted, record.accepted)
    this.judge(ticket, gate, record.campaign, { expected, offers, waited: [0, most] })
    if (offers !== undefined) this.saw("a caller who is queued is offered something")
  }

  /** A caller has asked a gate for the state of a ticket, at `asked` (ms), and it waits. */
  polled(gate: Gate, ticket: string, asked: number, { estimatedWaitSeconds: expected, offers }: Answer): void {
    const record = this.world.watch.recordOf(ticket)
    if (record === undefined || !gate.servesCampaign(record.campaign)) return
    this.judge(ticket, gate, record.campaign, { expected, offers, waited: this.waited(gate, record.accepted, asked) })
    if (offers !== undefined) this.saw("a caller who polls is offered something")
  }

  /** A gate has not taken somebody. */
  refused(gate: Gate, campaign: CampaignName, why: string, offers: ReadonlyArray<Offer> | undefined): void {
    for (const wrong of wrongOffers(offers, this.all(gate, campaign)))
      this.world.fail(`${wrong}: with ${why}, by ${gate.name}`)
    if (offers !== undefined) this.saw(`a caller is offered something with ${why}`)
  }

  /** An event is sent to a page. */
  pushed(link: Link, event: PushEvent): void {
    const { kernel, watch } = this.world
    if (event.type === "position") {
      link.expected = event.estimatedWaitSeconds
      if ((link.expected ?? 0) <= this.plan.afterSeconds) link.expectedSince = undefined
      else link.expectedSince ??= kernel.now
    }
    if (event.type !== "offer") return
    const { expected, gate, ticket } = link
    if (link.offered++ > 0) this.world.fail(`O2: the page of ${ticket} is told of offers again, by ${gate.name}`)
    this.saw("a connected page is offered something")
    const record = watch.recordOf(ticket)
    if (record === undefined) return
    const waited = this.waited(gate, record.accepted, kernel.now)
    this.judge(ticket, gate, record.campaign, { expected, offers: event.offers, waited })
  }

  /** A gate has answered that a ticket was left for an offer, which the page had said at `asked` (ms). */
  left(ticket: string, asked: number): void {
    const { watch } = this.world
    this.saw("a caller takes what is offered")
    const state = watch.stateOf(ticket)
    // one that was called meanwhile may have begun a start, and waits again when that has failed
    const wasCalled = (watch.ledger.lifeOf(ticket)?.turnAt ?? 0) > 0
    if (state === "waiting" && !wasCalled)
      this.world.fail(`O4: ${ticket} was left for an offer ${this.world.kernel.now - asked} ms ago, and waits`)
  }

  /** Who waits long and is connected was told. */
  timePassed(): void {
    const { callers, kernel, plan, watch } = this.world
    for (const { links } of callers) {
      for (const link of links) {
        const { attached, gate, isOnly, offered, open, ticket } = link
        // a page that comes again within a tick is the same one to its gate, and two gates may know it for a while
        if (!isOnly || !open || offered > 0 || attached === undefined || !gate.process.alive) continue
        const record = watch.recordOf(ticket)
        // one that was called waits again since a moment ago
        const wasCalled = (watch.ledger.lifeOf(ticket)?.turnAt ?? 0) > 0
        if (record?.state !== "waiting" || wasCalled || !gate.servesCampaign(record.campaign)) continue
        if (!this.all(gate, record.campaign).some(({ now }) => now === "open")) continue
        const long = record.accepted + this.plan.afterSeconds * 1000 + 2 * plan.skewMillis
        const since = Math.max(Math.min(long, link.expectedSince ?? long), attached, gate.cleanSince)
        if (kernel.now - since > TOLD_MILLIS)
          this.world.fail(`O2: ${ticket} waits long, and its page at ${gate.name} was offered nothing`)
      }
    }
  }
}
