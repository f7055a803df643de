/**
 * Watches what budgets have in their windows: that it adds up and keeps the caps, that each second beyond one has a cause which the promise names,
 * that alerts come once and before the limit acts, and that operators' changes are made once. The books are read by `budget-watch.ts`.
 */
import type { Adjusted, Balance, BudgetEffects, Held } from "../../src/budgets/answers.ts"
import type { AdjustCall } from "../../src/budgets/rules/adjust.ts"
import type { BalanceCall } from "../../src/budgets/rules/balance.ts"
import type { HoldCall } from "../../src/budgets/rules/hold.ts"
import type { Budget } from "../../src/settings/groups/budgets.ts"
import type { Awaited } from "../model/awaited.ts"
import { type LedgerLine, ledgerViolations } from "../model/budgets.ts"
import { type Book, EMPTY, holdsOf } from "./books.ts"
import type { BudgetsPlan } from "./plan.ts"
import { PER_MINUTE } from "./settings.ts"
import type { World } from "./world.ts"

/** For how long a refusal may be one of a moment ago: an instance repeats it, and it is under way (ms). */
const REFUSED_MILLIS = 5_000
const NOTHING: LedgerLine = { settled: 0, held: 0, adjusted: 0 }

const beyond = ({ adjusted, held, settled }: LedgerLine, cap: number): number =>
  Math.max(0, settled + held - cap - adjusted)

export class BudgetLines {
  readonly budgets: ReadonlyMap<string, Budget>
  private readonly world: World
  private readonly plan: BudgetsPlan
  private readonly saw: (what: string) => void
  /** by their ledgers */
  private readonly books: ReadonlyMap<string, Book>
  private readonly ofCampaigns: ReadonlySet<string>
  /** what a line may have beyond its cap: it was counted as overrun, or has been there since the cap was lowered */
  private readonly allowed = new Map<string, number>()
  /** the largest share of each line that was told, and the lines that were told to be used up */
  private readonly alerted = new Map<string, number>()
  private readonly exhausted = new Set<string>()
  /** what operators have added to each line, by the ids of the adjustments */
  private readonly adjustments = new Map<string, Map<string, number>>()
  /** when each line last had too little for a call to begin (ms) */
  private readonly lowAt = new Map<string, number>()

  constructor(
    world: World,
    plan: BudgetsPlan,
    books: ReadonlyMap<string, Book>,
    ofCampaigns: ReadonlySet<string>,
    saw: (what: string) => void,
  ) {
    this.world = world
    this.plan = plan
    this.books = books
    this.ofCampaigns = ofCampaigns
    this.saw = saw
    this.budgets = new Map(plan.budgets.map((budget) => [budget.Name, budget]))
  }

  /** In the unit of the rules. */
  private capOf(name: string): number {
    const { Cap, Unit } = this.budgets.get(name) ?? { Cap: 0, Unit: "minutes" }
    return Unit === "money" ? Math.round(Cap * 1_000_000) : Math.floor(Cap * 60)
  }

  /** The least with which a call may begin (s). */
  private get least(): number {
    const { leadSeconds, minimum, roundUp } = this.plan
    return Math.ceil(Math.max(minimum, leadSeconds + 10) / roundUp) * roundUp
  }

  /** What a budget has for which callers wait, by the field of what is settled. */
  awaited(book: Book, field: string): Awaited {
    const [, name = "", from = ""] = field.split(" ")
    const { adjusted, held, settled } = this.standing(book, `${name} ${from}`)
    const { blockSeconds, roundUp } = this.plan
    const block = Math.max(this.least, Math.ceil(blockSeconds / roundUp) * roundUp)
    const isMoney = this.budgets.get(name)?.Unit === "money"
    const amount = (seconds: number): number => (isMoney ? Math.ceil((seconds * PER_MINUTE * 1_000_000) / 60) : seconds)
    return { left: this.capOf(name) + adjusted - settled - held, least: amount(this.least), block: amount(block) }
  }

  /** Whether the budgets of callers for which they wait have enough for a call to begin, by the book of one of them. */
  hasOwn({ lines }: Book): boolean {
    return [...this.budgets.values()].every(({ Name, Of, OnLimit }) => {
      if (Of !== "caller" || OnLimit !== "wait") return true
      const froms = [...lines.keys()].flatMap((line) => (line.split(" ")[0] === Name ? Number(line.split(" ")[1]) : []))
      return !this.isLow(
        Name,
        this.standing({ lines, shared: lines, records: new Map() }, `${Name} ${Math.max(...froms)}`),
      )
    })
  }

  /** What is left pays for too little. */
  private isLow(name: string, { adjusted, held, settled }: LedgerLine): boolean {
    const left = this.capOf(name) + adjusted - settled - held
    const seconds = this.budgets.get(name)?.Unit === "money" ? (left * 60) / (PER_MINUTE * 1_000_000) : left
    return Math.floor(seconds / this.plan.roundUp) * this.plan.roundUp < this.least
  }

  /** Names a line among all: one of an account is that of all campaigns. */
  private where(ledger: string, line: string): string {
    const [name = ""] = line.split(" ")
    return `${this.isShared(name) ? "account" : ledger} ${line}`
  }

  private isShared(name: string): boolean {
    return this.budgets.get(name)?.Of === "account"
  }

  private standing({ lines, shared }: Book, line: string): LedgerLine {
    const [name = ""] = line.split(" ")
    return (this.isShared(name) ? shared : lines).get(line) ?? NOTHING
  }

  /** After a step: all is counted once, and the caps are kept. */
  check(ledger: string, book: Book): void {
    const bound = (line: string, standing: LedgerLine): number => {
      const [name = ""] = line.split(" ")
      const where = this.where(ledger, line)
      if (!this.isLow(name, { ...standing, held: 0 })) this.exhausted.delete(where)
      if (this.isLow(name, standing)) this.lowAt.set(where, this.world.kernel.now)
      const made = [...(this.adjustments.get(where)?.values() ?? [])].reduce((sum, by) => sum + by, 0)
      if (standing.adjusted !== made)
        this.world.fail(`B9: ${line} is adjusted by ${standing.adjusted}, and operators have made ${made}`)
      return this.capOf(name) + standing.adjusted + (this.allowed.get(where) ?? 0)
    }
    const found = [...ledgerViolations(book.lines, holdsOf(book, false), new Map(), bound)]
    if (this.ofCampaigns.has(ledger)) {
      const all = [...this.ofCampaigns].flatMap((each) => holdsOf(this.books.get(each) ?? EMPTY, true))
      found.push(...ledgerViolations(book.shared, all, new Map(), bound))
    }
    for (const wrong of found) this.world.fail(`B1: ${wrong}`)
  }

  /**
   * What a step has told besides its answer.
   *
   * @param windows those of the step's hold, by budget
   * @param why what explains that a budget which ends calls is beyond its cap; undefined where nothing does
   */
  effects(
    ledger: string,
    { alerts = [], exhausted = [], overruns = [] }: BudgetEffects,
    book: Book,
    windows: ReadonlyMap<string, number>,
    why: string | undefined,
  ): void {
    const { world } = this
    for (const { adjusted, from, held, name, settled, share } of alerts) {
      const where = this.where(ledger, `${name} ${from}`)
      if (share <= (this.alerted.get(where) ?? 0)) world.fail(`B7: ${where} has told a share of ${share} again`)
      if (settled + held < share * (this.capOf(name) + adjusted))
        world.fail(`B7: ${where} tells a share of ${share} early`)
      this.alerted.set(where, share)
      this.saw("a budget alerts")
    }
    for (const name of exhausted) {
      const where = this.where(ledger, `${name} ${windows.get(name)}`)
      const standing = this.standing(book, `${name} ${windows.get(name)}`)
      if (this.exhausted.has(where) || !this.isLow(name, { ...standing, held: 0 }))
        world.fail(`B7: ${where} is told to be used up, and was so, or is not`)
      this.exhausted.add(where)
      this.saw("a budget is used up")
    }
    for (const { amount, name } of overruns) {
      const where = this.where(ledger, `${name} ${windows.get(name)}`)
      this.allowed.set(where, (this.allowed.get(where) ?? 0) + amount)
      this.saw("a budget is overrun")
      if (this.budgets.get(name)?.OnLimit === "end" && why === undefined)
        world.fail(`B2: ${where} is beyond its cap by ${amount} more, and nothing explains it`)
    }
  }

  /** A charge, or a correction, has brought budgets to more: their shares are told at once. */
  raised(ledger: string, before: Book, after: Book): void {
    for (const line of [...after.lines.keys(), ...after.shared.keys()]) {
      const [was, is] = [this.standing(before, line), this.standing(after, line)]
      if (is.settled + is.held <= was.settled + was.held && is.adjusted >= was.adjusted) continue
      const [name = ""] = line.split(" ")
      const reached = this.reached(name, is)
      const where = this.where(ledger, line)
      if (reached > (this.alerted.get(where) ?? 0))
        this.world.fail(`B7: ${where} is charged or lowered, and its share of ${reached} was not told`)
    }
  }

  /** The largest share of the cap that is settled or held. */
  private reached(name: string, { adjusted, held, settled }: LedgerLine): number {
    const shares = this.budgets.get(name)?.AlertAt ?? []
    return Math.max(0, ...shares.filter((share) => settled + held >= share * (this.capOf(name) + adjusted)))
  }

  /** A step that holds time, or refuses it: the shares that are reached were told before. */
  limited(ledger: string, { books: [part] }: HoldCall, answer: Held, book: Book): void {
    const { world } = this
    for (const { cap, from, name, shares = [] } of part?.entries ?? []) {
      const line = `${name} ${from}`
      const where = this.where(ledger, line)
      const standing = this.standing(book, line)
      const reached = Math.max(
        0,
        ...shares.filter((share) => standing.settled + standing.held >= share * (cap + standing.adjusted)),
      )
      if (reached > (this.alerted.get(where) ?? 0) && (answer._tag !== "held" || answer.short === name))
        world.fail(`B7: ${where} acts, and its share of ${reached} was not told`)
    }
    // a step over two books may be refused by a budget of the other
    if (answer._tag !== "refused" || !(part?.entries ?? []).some(({ name }) => name === answer.name)) return
    this.saw("a budget refuses a call")
    const line = `${answer.name} ${answer.from}`
    if (!this.isLow(answer.name, this.standing(book, line)))
      world.fail(`B8: a call is refused, and ${this.where(ledger, line)} has enough to begin with`)
  }

  /** An operator's change was carried out. */
  adjusted(ledger: string, { by, from, id, name }: AdjustCall, { result }: Adjusted, before: Book): void {
    const where = this.where(ledger, `${name} ${from}`)
    const known = this.adjustments.get(where) ?? new Map<string, number>()
    this.adjustments.set(where, known)
    // also in an earlier window
    const budget = this.where(ledger, name)
    const wasMade = [...this.adjustments].some(([line, ids]) => line.startsWith(`${budget} `) && ids.has(id))
    const made = result === "made"
    if (made === wasMade) this.world.fail(`B9: the adjustment ${id} is ${made ? "made again" : "not made"}`)
    if (!made) return
    known.set(id, by)
    this.saw("an operator adds to a budget")
    if (by > 0) this.exhausted.delete(where)
    const standing = this.standing(before, `${name} ${from}`)
    const more =
      beyond({ ...standing, adjusted: standing.adjusted + by }, this.capOf(name)) - beyond(standing, this.capOf(name))
    if (more > 0) this.allowed.set(where, (this.allowed.get(where) ?? 0) + more)
  }

  /** A gate has told an operator that a change was made. */
  toppedUp(id: string): void {
    if (![...this.adjustments.values()].some((made) => made.has(id)))
      this.world.fail(`B9: the adjustment ${id} was answered as made, and is lost`)
  }

  /** A balance is what the ledger has. */
  balanced(ledger: string, { windows }: BalanceCall, { standings }: Balance, book: Book): void {
    for (const [n, { from, name }] of windows.entries()) {
      const { adjusted, held, settled } = this.standing(book, `${name} ${from}`)
      const told = standings[n]
      if (told?.settled !== settled || told.held !== held || told.adjusted !== adjusted)
        this.world.fail(`B1: the balance of ${this.where(ledger, name)} is not what its ledger has`)
    }
  }

  /** Somebody was refused because of a budget. */
  refused(who: string, name: string): void {
    this.noteLow()
    const since = this.world.kernel.now - REFUSED_MILLIS
    if (![...this.lowAt].some(([where, at]) => where.includes(` ${name} `) && at >= since))
      this.world.fail(`B8: ${who} was refused because of ${name}, and that has enough to begin with`)
  }

  /** A line stays as it is between the steps. */
  private noteLow(): void {
    for (const [ledger, book] of this.books)
      for (const [line, standing] of [...book.lines, ...book.shared])
        if (this.isLow(line.split(" ")[0] ?? "", standing))
          this.lowAt.set(this.where(ledger, line), this.world.kernel.now)
  }
}
