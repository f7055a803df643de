/**
 * Forgets a caller, by subject or address: everything that the store has of them is removed, or counted. What waits or is in a call at that
 * moment is kept and told. One request takes a bounded number of steps, each of a bounded length, and says where the next one goes on, so a
 * large log keeps neither Redis nor a connection busy. It may be repeated at any time: whatever has stopped it, the rest is found again.
 */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { forgetBilledCalls, forgetBudgets } from "../budgets/forget.ts"
import { SUBJECT_PREFIX } from "../caller-names/rules/subject-name.ts"
import type { EventLog } from "../events/EventLog.ts"
import type { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import { keyOfCampaign } from "../fifo-queue/keys.ts"
import { PAGE_MAX } from "../fifo-queue/operator/OperatorQueue.ts"
import type { Forgotten as Caller } from "../fifo-queue/rules/operator/forget.ts"
import type { CampaignContext } from "../fifo-queue/step.ts"
import type { Internals } from "../gatekeeper/Internals.ts"
import { forgetFacts } from "../ip-intel/forget.ts"
import { parseAddress } from "../lib/ip/address.ts"
import { SUBJECT_METADATA } from "../protocol/identity.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import type { Campaign, SettingsTree } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import type { CallersStore } from "./callers.ts"
import { type ForgetRequest, type Forgotten, type Position, positionIn, positionText } from "./forgotten.ts"

/** How many steps of the store one request takes. */
const STEPS_PER_REQUEST = 100

/** A campaign in the store, with its name as operators know it. */
interface InStore {
  readonly key: string
  readonly name: string
  readonly at: CampaignContext
}

const MINUTES_TEXT = "the memory of running gates, for some minutes"

/** What the gate cannot look through. */
const unreachedOf = (
  settings: Pick<SettingsTree, "Campaigns" | "Identity" | "Privacy">,
  owns: { readonly queue: boolean; readonly limiter: boolean },
): ReadonlyArray<string> => {
  const platforms = [...new Set(settings.Campaigns.map(({ Platform }) => Platform))].join(", ")
  const sendsEvents = settings.Campaigns.some(({ Events }) => Events !== undefined)
  return [
    "logs and traces of gates and proxies, and backups of the store",
    `what platforms (${platforms}) were sent of calls, and keep of them`,
    ...(sendsEvents ? ["events that were delivered, or read by cursor"] : []),
    ...(settings.Identity.SingleUse
      ? ["which tokens were used: a hash of subject and token, for as long as the token is accepted"]
      : []),
    ...(settings.Privacy.Addresses === "hashed"
      ? ["addresses under their names of past weeks, whose keys are gone"]
      : []),
    "campaigns that no gate knows any more",
    MINUTES_TEXT,
    ...(owns.queue ? [] : ["the queue of the host application"]),
    ...(owns.limiter ? [] : ["the limits of the host application"]),
  ]
}

export interface ForgetNeeds {
  readonly internals: Internals["Service"]
  readonly queue: FifoQueue["Service"]["operator"]
  readonly eventLog: EventLog["Service"]
  readonly settings: SettingsTree
  readonly store: Store["Service"]
  readonly callers: CallersStore
}

/** @param who forgets, as the audit log shows operators */
export const makeForget = ({ callers, eventLog, internals, queue, settings, store }: ForgetNeeds) => {
  const { at, campaigns, limiter, names, removed, step, stepIn } = internals

  /** In an order that every gate knows: the next request may be answered by another one, with other campaigns. */
  const places = (): ReadonlyArray<InStore> =>
    [
      ...campaigns.all.map((campaign) => ({ key: keyOfCampaign(campaign), name: campaign.name, at: at(campaign) })),
      ...removed().map(({ at, key, name }) => ({ key, name, at })),
    ].sort((a, b) => (a.key < b.key ? -1 : 1))

  /** What the store calls the caller: as it does now, and as it does without `Privacy.Addresses: hashed`. */
  const namesOf = ({ address, subject = "" }: ForgetRequest) => {
    const parsed = address === undefined ? undefined : parseAddress(address)
    if (parsed === undefined) {
      const caller: Caller = {
        names: [...new Set([names.subject(subject), SUBJECT_PREFIX + encodeURIComponent(subject)])],
        entry: { name: SUBJECT_METADATA, value: subject },
      }
      return { caller, facts: [], operator: undefined }
    }
    const looked = parseAddress(parsed.lookupText) ?? parsed
    return {
      caller: { names: [...new Set([names.of(parsed.limitKey), parsed.limitKey])] } satisfies Caller,
      facts: [...new Set([names.of(looked.factsKey), looked.factsKey])],
      operator: names.shown(parsed.text),
    }
  }

  /** Each campaign's log has the line, before anything is removed. */
  const note = (who: string, request: ForgetRequest, reference: string): Effect.Effect<void, StoreUnavailable> => {
    const target = `${request.subject === undefined ? "an address" : "a subject"}, reference ${reference}`
    return Effect.andThen(
      Effect.forEach(
        campaigns.all,
        (campaign: Campaign) => step(campaign, (where) => queue.act(where, who, { type: "forget", target })),
        { concurrency: 8, discard: true },
      ),
      Effect.logInfo(`Operator ${who}: forgets ${target}`),
    )
  }

  return Effect.fnUntraced(function* (
    who: string,
    request: ForgetRequest,
  ): Effect.fn.Return<Forgotten, StoreUnavailable> {
    yield* names.ready ?? Effect.void
    const dryRun = request.dryRun === true
    const { caller, facts, operator } = namesOf(request)
    const of: Caller = dryRun ? caller : { ...caller, remove: true }
    const found = new Map<string, Forgotten["found"][number]>()
    const kept = new Map<string, Forgotten["kept"][number]>()
    const add = <P extends string>(
      to: Map<string, { readonly place: P; readonly campaign?: string; readonly count: number }>,
      place: P,
      campaign: string | undefined,
      count: number,
    ): void => {
      if (count === 0) return
      const key = `${place} ${campaign}`
      const before = to.get(key)?.count ?? 0
      to.set(key, { place, ...(campaign === undefined ? {} : { campaign }), count: before + count })
    }

    const all = places()
    const begun = request.from === undefined ? undefined : positionIn(request.from)
    const reference = begun?.reference ?? randomBytes(4).toString("hex")
    if (begun === undefined && !dryRun) yield* note(who, request, reference)

    /** The first position of the campaign at an index; the last stage behind the last campaign. */
    const beginning = (index: number): Position => {
      const place = all[index < 0 ? all.length : index]
      return place === undefined
        ? { reference, stage: "rest", at: "0", campaign: "" }
        : { reference, stage: "tickets", at: "0", campaign: place.key }
    }

    const stepTickets = Effect.fnUntraced(function* (place: InStore, from: Position) {
      const { forget } = queue
      if (forget === undefined) return { ...from, stage: "calls" as const, at: "0" }
      const page = yield* stepIn(place.at, forget(place.at, of, from.at))
      add(found, "tickets", place.name, page.over)
      add(found, "damaged_records", place.name, page.quarantined)
      add(kept, "waiting", place.name, page.waiting)
      add(kept, "calls", place.name, page.holding)
      add(kept, "settlements", place.name, page.owed)
      return page.cursor === "0" ? { ...from, stage: "calls" as const, at: "0" } : { ...from, at: page.cursor }
    })

    const stepCalls = Effect.fnUntraced(function* (place: InStore, from: Position) {
      const page = yield* forgetBilledCalls(store, place.key, caller.names, from.at, !dryRun)
      add(found, "billed_calls", place.name, page.calls)
      add(kept, "held_time", place.name, page.open)
      return page.cursor === "0" ? { ...from, stage: "events" as const, at: "0" } : { ...from, at: page.cursor }
    })

    const stepEvents = Effect.fnUntraced(function* (place: InStore, from: Position) {
      const page = yield* eventLog.forget(place.key, of, Number(from.at))
      add(found, "events", place.name, page.delivered)
      add(found, "undelivered_events", place.name, page.undelivered)
      add(kept, "events", place.name, page.kept)
      return page.next === 0 ? { ...from, stage: "audit" as const, at: "0" } : { ...from, at: String(page.next) }
    })

    const stepAudit = Effect.fnUntraced(function* (place: InStore, from: Position) {
      const index = all.indexOf(place)
      if (operator === undefined) return beginning(index + 1)
      const first = Number(from.at)
      const { lines, total } = yield* stepIn(place.at, queue.auditLog(place.at, first, PAGE_MAX))
      const isNamed = ({ target, who: line }: (typeof lines)[number]): boolean =>
        line === operator || caller.names.some((name) => target === name || target.startsWith(`${name} `))
      add(kept, "audit_log", place.name, lines.filter(isNamed).length)
      return first + PAGE_MAX >= total ? beginning(index + 1) : { ...from, at: String(first + PAGE_MAX) }
    })

    const stepRest = Effect.gen(function* () {
      for (const name of caller.names) {
        const units = limiter.forget === undefined ? { units: 0, open: 0 } : yield* limiter.forget(name, !dryRun)
        add(found, "limits", undefined, units.units)
        add(kept, "open_units", undefined, units.open)
        const budgets = yield* forgetBudgets(store, name, !dryRun)
        add(found, "budgets", undefined, budgets.found)
        // a campaign's book has the same calls, unless a gate has died between the two
        if (![...kept.values()].some(({ place }) => place === "held_time"))
          add(kept, "held_time", undefined, budgets.open)
      }
      if (request.address !== undefined) {
        const seen = yield* callers.forget(
          caller.names,
          campaigns.all.map(({ name }) => name),
          !dryRun,
        )
        add(found, "seen", undefined, seen.seen)
        add(kept, "blocks", undefined, seen.blocks)
      }
      add(found, "address_facts", undefined, yield* forgetFacts(store, facts, !dryRun))
    })

    let position: Position | undefined = begun ?? beginning(0)
    for (let steps = 0; steps < STEPS_PER_REQUEST && position !== undefined; steps++) {
      const index = all.findIndex(({ key }) => key >= (position?.campaign ?? ""))
      const place = all[index]
      // where the campaign was removed meanwhile, the one behind it is next
      const now: Position = position.stage === "rest" || place?.key === position.campaign ? position : beginning(index)
      if (now.stage === "rest" || place === undefined) {
        yield* stepRest
        position = undefined
      } else if (now.stage === "tickets") position = yield* stepTickets(place, now)
      else if (now.stage === "calls") position = yield* stepCalls(place, now)
      else if (now.stage === "events") position = yield* stepEvents(place, now)
      else position = yield* stepAudit(place, now)
    }
    return {
      reference,
      dryRun,
      found: [...found.values()],
      kept: [...kept.values()],
      ...(position === undefined ? {} : { next: positionText(position) }),
      unreached: unreachedOf(settings, { queue: queue.forget !== undefined, limiter: limiter.forget !== undefined }),
    }
  })
}
