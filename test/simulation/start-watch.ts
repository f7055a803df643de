/** Watches the starts of one campaign: what the store was told of each is what the platform has answered, and no gate leaves one behind. */

import type { FailedStart } from "../../src/fifo-queue/rules/fail.ts"
import type { OutageReport } from "../../src/fifo-queue/rules/gate-reports.ts"
import { START_TIMEOUT_MILLIS } from "../../src/platform-api/requests/transport.ts"
import type { QueueState } from "../model/queue-state.ts"
import type { BudgetWatch } from "./budget-watch.ts"
import type { Gate } from "./gate.ts"
import type { Ledger } from "./ledger.ts"
import type { Outcome } from "./plan.ts"
import type { CampaignName } from "./settings.ts"
import type { World } from "./world.ts"

/** What a gate reports to the store about a start, by the platform's answer. */
const REASONS: { readonly [outcome in Outcome]: string | undefined } = {
  started: undefined,
  capacity: "capacity",
  limited: "limited",
  unacceptable: "refused",
  refused: "rejected",
  failed: "answered",
  ghost: "doubt",
  lost: "doubt",
  unreachable: "disrupted",
}
/** Minimum failures after which a ticket fails alone. */
const STRIKES = 3

export class StartWatch {
  private readonly world: World
  private readonly name: CampaignName
  private readonly ledger: Ledger
  private readonly budgets: BudgetWatch | undefined
  private readonly saw: (what: string) => void

  constructor(
    world: World,
    name: CampaignName,
    ledger: Ledger,
    budgets: BudgetWatch | undefined,
    saw: (what: string) => void,
  ) {
    this.world = world
    this.name = name
    this.ledger = ledger
    this.budgets = budgets
    this.saw = saw
  }

  /** A start failed: the store must have been told what the platform answered. */
  failed(gate: Gate, { id: ticket, millis, reason: kind, spent }: FailedStart, answer: string): void {
    this.saw(`fail ${kind} ${answer}`)
    if (answer === "stale") return
    if (!gate.servesCampaign(this.name)) {
      // the gate does not serve the campaign of the called ticket, and asks the platform nothing
      this.saw("fail elsewhere")
      if (kind !== "elsewhere" || millis !== 1) this.world.fail(`${ticket} came to another gate, and failed as ${kind}`)
      return
    }
    // a budget has nothing left for it, or could not be asked: the platform was not either
    if (this.budgets !== undefined && (spent === true || kind === "unpaid" || (kind === "elsewhere" && millis === 1))) {
      this.saw(`fail ${spent === true ? "spent" : kind === "unpaid" ? kind : "unasked"}`)
      return
    }
    const { world } = this
    const starts = world.platform.startsOf(this.ledger.lifeOf(ticket)?.request ?? "")
    const start = starts.at(-1)
    if (start === undefined) {
      world.fail(`the start of ${ticket} failed as ${kind}, and it was not requested`)
      return
    }
    const { at, script } = start
    // a gate does not wait forever
    const late = kind === "doubt" && world.kernel.now - at >= START_TIMEOUT_MILLIS
    if ((kind === "doubt" || kind === "answered") && world.kernel.now >= gate.givesUpAt) {
      this.saw("fail given up")
      return
    }
    if (!late && kind !== REASONS[script.outcome]) {
      world.fail(`the start of ${ticket} failed as ${kind}, and the platform answered ${script.outcome}`)
    }
    if (
      answer === "failed" &&
      (kind === "answered" || kind === "rejected" || kind === "doubt") &&
      starts.length < STRIKES
    )
      world.fail(`I3: ${ticket} lost its place after ${starts.length} starts that failed`)
    if (kind === "limited" && millis !== script.retryAfter) {
      world.fail(`the campaign backs off ${millis} ms, and the platform asked for ${script.retryAfter} ms`)
    }
  }

  /** A gate has returned: the tickets that it answered with 503 are gone with its first step. */
  reported(gate: Gate, { ids = [], more }: OutageReport, now: number, { tickets }: QueueState): void {
    if (ids.length > 0) this.saw("reportOutage withdraws")
    if (more === true) return
    for (const [id, { state }] of tickets) {
      const answered = state === "waiting" || state === "called" ? this.ledger.unknownSince(id) : undefined
      // a ticket whose start was requested is bound, or in doubt
      const asked = this.world.platform.startsOf(this.ledger.lifeOf(id)?.request ?? "").length > 0
      if (answered?.gate === gate && answered.at < now && !asked)
        this.world.fail(`I3: ${gate.name} has returned, and ${id}, whose request it answered with 503, is ${state}`)
    }
  }

  /** A gate has stopped gracefully: it leaves no start behind that nobody waits for. */
  stopped(gate: Gate, { tickets }: QueueState): void {
    this.saw("stop")
    for (const [id, { state }] of tickets) {
      const start =
        state === "starting" ? this.world.platform.startsOf(this.ledger.lifeOf(id)?.request ?? "").at(-1) : undefined
      // what did not reach the store is left to the deadline
      if (start?.by === gate && gate.cleanSince <= start.at)
        this.world.fail(`I4: ${gate.name} has stopped and left ${id} starting`)
    }
  }
}
