/**
 * Watches the events of one campaign: that each step writes those that it owes, and no others; that one gate at a time sends those of a ticket; and
 * what has arrived at the host.
 */
import type { SettledEvent, Ticked } from "../../src/events/answers.ts"
import { LEASE_MILLIS } from "../../src/events/deliver.ts"
import { eventKeysOf } from "../../src/events/keys.ts"
import type { Outcome } from "../../src/events/rules/settle.ts"
import { chainOf, isStoredEvent } from "../../src/events/rules/shared/log.ts"
import { type StoredEvent, ticketHashOf } from "../../src/fifo-queue/rules/shared/events.ts"
import type { HostEvent } from "../../src/protocol/host-events.ts"
import type { Rule } from "../../src/store/Store.ts"
import type { Change } from "../model/change.ts"
import { type Binding, eventText, expectedEvents, wrongDurations } from "../model/events.ts"
import type { AnyAsk } from "./did.ts"
import type { Ledger } from "./ledger.ts"
import type { World } from "./world.ts"

interface Reading {
  readonly after: number
}

/** Reads the events after a number, by a rule for tests only. Keys: a campaign's events. */
const eventsProbe: Rule<object, Reading, ReadonlyArray<string>> = {
  name: "test.events",
  lua: `local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. cjson.decode(ARGV[3]).after, '+inf')
return #found == 0 and '[[]]' or cjson.encode({ found })`,
  run: (db, [events = ""], _now, _context, calls) =>
    calls.map(({ after }) => db.zrangebyscore(events, after + 1, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER)),
  decode: (answer) => answer as ReadonlyArray<string>,
  batch: false,
}

const OF_BUDGETS: ReadonlySet<string> = new Set(["budget.alert", "budget.exhausted", "call.corrected"])

const storedIn = (text: string): StoredEvent | undefined => {
  const event: unknown = JSON.parse(text)
  return isStoredEvent(event) ? event : undefined
}

export class EventWatch {
  /** of the event log */
  readonly keys: ReadonlyArray<string>
  private readonly world: World
  private readonly ledger: Ledger
  private readonly logged: Array<StoredEvent> = []
  private readonly arrived = new Set<number>()
  /** the tickets whose events a gate sends now, until when (ms) */
  private readonly sending = new Map<string, number>()
  private readonly ids = new Map<string, string>()

  constructor(world: World, key: string, ledger: Ledger) {
    this.world = world
    this.ledger = ledger
    this.keys = eventKeysOf(key)
  }

  /** Reads what the last step has written. */
  read(count: number, then: (written: ReadonlyArray<StoredEvent>) => void): void {
    if (count === this.logged.length) then([])
    else this.readAll(then)
  }

  /** Reads whatever is new. */
  readAll(then: (written: ReadonlyArray<StoredEvent>) => void): void {
    const after = this.logged.length
    const ask = { keys: this.keys.slice(0, 1), now: this.world.kernel.now, context: {}, call: { after } }
    this.world.base.run(eventsProbe, ask, (texts) => then(texts.flatMap((text) => storedIn(text) ?? [])))
  }

  private idOf(hash: string): string | undefined {
    if (!this.ids.has(hash)) for (const id of this.ledger.ids) this.ids.set(ticketHashOf(id), id)
    return this.ids.get(hash)
  }

  /** What a step has written must be what it owes. */
  stepped(written: ReadonlyArray<StoredEvent>, change: Change, binding: Binding, reports: boolean): void {
    const due = reports ? expectedEvents(change, binding) : []
    const texts = written.map((event) => eventText(event, (hash) => this.idOf(hash)))
    if (texts.toSorted().join() !== due.join())
      this.world.fail(`E1: events [${texts.join()}] are written where [${due.join()}] are due`)
    for (const wrong of wrongDurations(written, change, (hash) => this.idOf(hash))) this.world.fail(wrong)
    this.append(written)
  }

  /** A step of the budgets writes what budgets tell, and nothing else. */
  ofBudgets(written: ReadonlyArray<StoredEvent>): void {
    for (const { type } of written)
      if (!OF_BUDGETS.has(type)) this.world.fail(`E1: a step of the budgets writes ${type}`)
    this.append(written)
  }

  private append(written: ReadonlyArray<StoredEvent>): void {
    for (const event of written) {
      if (event.seq !== this.logged.length + 1) this.world.fail(`E1: event ${event.seq} follows ${this.logged.length}`)
      const before = this.logged.filter((each) => chainOf(each) === chainOf(event))
      if (before.some(({ type }) => type === "call.ended"))
        this.world.fail(`E1: ${this.idOf(event.ticket ?? "")} has ended, and then ${event.type}`)
      this.logged.push(event)
    }
  }

  /** A rule of the event log was executed. */
  carriedOut(rule: string, { call, now }: AnyAsk, answer: unknown): void {
    if (rule === "events.settle" && (answer as SettledEvent).counted) this.sending.delete((call as Outcome).chain)
    if (rule !== "events.tick") return
    for (const { chain } of (answer as Ticked).claimed ?? []) {
      if ((this.sending.get(chain) ?? 0) > now) this.world.fail(`E3: two gates send events of ${this.idOf(chain)}`)
      this.sending.set(chain, now + LEASE_MILLIS)
    }
  }

  /** The host has taken an event. */
  received({ seq, ticketHash, type }: HostEvent): void {
    const event = this.logged[seq - 1]
    if (event === undefined || event.type !== type || event.ticket !== ticketHash) {
      this.world.fail(`E1: event ${seq} ${type} arrives, and was not written`)
      return
    }
    const missing = this.logged.find(
      (each) => each.seq < seq && chainOf(each) === chainOf(event) && !this.arrived.has(each.seq),
    )
    if (missing !== undefined)
      this.world.fail(`E3: ${this.idOf(ticketHash ?? "")}: ${type} arrives before ${missing.type}`)
    this.arrived.add(seq)
  }

  /** Everything has arrived. */
  get done(): boolean {
    return this.arrived.size === this.logged.length
  }

  finish(): void {
    for (const { seq, ticket = "", type } of this.logged)
      if (!this.arrived.has(seq)) this.world.fail(`E2: ${type} of ${this.idOf(ticket)} has never arrived`)
  }
}
