/**
 * A random history of campaigns that share an account: callers arrive, start, leave and end in each of them, caps and slots change, and
 * time passes. The invariants of each campaign and those of the account are checked after every step.
 */

import type { StepAnswer } from "../../../src/fifo-queue/answers.ts"
import { campaignIdOf, keysOf } from "../../../src/fifo-queue/keys.ts"
import type { QueueContext } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { State } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import { rules as queueRules } from "../../../src/fifo-queue/rules.ts"
import { NO_CONTEXT } from "../../../src/store/rule.ts"
import type { Rule } from "../../../src/store/Store.ts"
import { Chance } from "../../harness/chance.ts"
import { type AccountState, accountViolations, type Member, slotsWithin } from "../../model/accounts.ts"
import type { Change } from "../../model/change.ts"
import { violations } from "../../model/invariants.ts"
import { doubtIds, EMPTY, probe, readState } from "../../model/queue-state.ts"
import { type History, recorder } from "./history.ts"
import type { Rules } from "./queue-steps.ts"

const STEPS = 60

/** One campaign, with the tickets and sessions that it has had. */
interface Campaign {
  readonly id: string
  readonly keys: ReadonlyArray<string>
  readonly tickets: Array<string>
  readonly sessions: Array<string>
}

/** A step as a function of its context. */
type Take = (context: QueueContext) => { readonly answer: StepAnswer<unknown>; readonly about: Partial<Change> }

const reservationsOf = (random: Chance, campaigns: ReadonlyArray<Campaign>, cap: number): Record<string, number> => {
  const reserved: Record<string, number> = {}
  let left = cap
  for (const { id } of campaigns) {
    const slots = Math.min(left, random.pick(0, 0, 1, 2))
    left -= slots
    if (slots > 0) reserved[id] = slots
  }
  return reserved
}

/** Generates the history of a seed. `asked` may be wrong rules, to test that they are detected. */
export const accountHistory = (seed: number, asked: Rules = queueRules): History => {
  const random = new Chance(seed)
  const prefix = `a${seed}:`
  const campaignOf = (name: string): Campaign => {
    const key = `${prefix}account/${name}/campaign`
    return { id: campaignIdOf(key).campaign, keys: keysOf(key), tickets: [], sessions: [] }
  }
  const two = [campaignOf("one"), campaignOf("two")] as const
  const campaigns = random.percent(30) ? two : ([...two, campaignOf("three")] as const)
  const { look, run, steps } = recorder([])
  let cap: number = random.pick(1, 2, 2, 3, 4, 6)
  let reserved = reservationsOf(random, campaigns, cap)
  const slots = new Map(campaigns.map(({ id }) => [id, random.pick(1, 2, cap, cap)]))
  const members = new Map<string, Member>()
  let now = 4_000_000_000_000 + random.below(1_000_000)
  let count = 0

  const account = (): AccountState => ({ cap, reserved, members })
  const memberOf = ({ id }: Campaign): Member =>
    members.get(id) ?? { state: EMPTY, slots: slots.get(id) ?? 0, steppedAt: now, limited: false }

  const choose = (campaign: Campaign): Take => {
    const { keys, sessions, tickets } = campaign
    const { state } = memberOf(campaign)
    const inState = (...states: ReadonlyArray<State>): string | undefined =>
      random.maybe([...state.tickets].filter(([, t]) => states.includes(t.state)).map(([id]) => id))
    const does =
      <Call extends object, R>(
        rule: Rule<QueueContext, Call, StepAnswer<R>>,
        call: Call,
        about: (result: R) => Partial<Change> = () => ({}),
      ): Take =>
      (context) => {
        const { answer } = run(rule, { now, context, call }, keys)
        return { answer, about: about(answer.result) }
      }
    const leaseOf = (id: string): string => state.tickets.get(id)?.lease ?? "0"
    const called = inState("called")
    const starting = inState("starting")
    const op = random.weighted({
      admit: 30,
      start: called === undefined ? 0 : 25,
      bind: starting === undefined ? 0 : 25,
      fail: starting === undefined ? 0 : 6,
      end: state.sessions.size === 0 ? 0 : 18,
      leave: 5,
      heartbeat: 5,
      sweep: 25,
      turn: 3,
    })
    switch (op) {
      case "admit": {
        const id = `t${count++}`
        tickets.push(id)
        return does(asked.admit, { id, caller: "", network: "", holds: false, data: "{}" }, () => ({
          admits: [id, ""],
        }))
      }
      case "start":
        return does(asked.start, { id: called ?? "nobody", attempt: `a${random.below(3)}` })
      case "bind": {
        const id = starting ?? "nobody"
        const session = `x${sessions.length}`
        sessions.push(session)
        return does(asked.bind, { id, lease: leaseOf(id), data: JSON.stringify({ s: [session] }), sessions: [session] })
      }
      case "fail": {
        const id = starting ?? "nobody"
        const reason = random.pick("capacity", "answered", "doubt", "disrupted")
        return does(asked.fail, { id, lease: leaseOf(id), reason })
      }
      case "end":
        return does(asked.end, { sessions: [random.maybe([...state.sessions.keys()]) ?? "x?"] })
      case "leave":
        return does(asked.leave, { id: inState("waiting", "called") ?? "nobody" })
      case "heartbeat":
        return does(asked.heartbeat, { ids: tickets.filter(() => random.percent(80)) })
      case "sweep":
        return does(asked.sweep, { heartbeatAt: now }, ({ more }) => ({ swept: !more, shown: now }))
      case "turn":
        return does(asked.act, { who: "w", action: { type: state.meta.get("paused") === 1 ? "resume" : "pause" } })
    }
  }

  const contextOf = ({ id }: Campaign): QueueContext => ({
    slots: slots.get(id) ?? 0,
    share: 1,
    maxLength: 100,
    instance: "a",
    holder: 1,
    channel: prefix,
    windowMillis: 30_000,
    graceMillis: 30_000,
    seenMillis: 32_000,
    callMillis: 7_200_000,
    account: { id, cap, reserved },
  })

  const taken = (campaign: Campaign, take: Take): ReadonlyArray<string> => {
    const { id, keys, sessions, tickets } = campaign
    const before = memberOf(campaign).state
    const context = contextOf(campaign)
    const { about } = take(context)
    const ids = [...tickets, ...doubtIds((before.meta.get("lease") ?? 0) + context.slots)]
    const after = readState(look(probe, { now, context: NO_CONTEXT, call: { tickets: ids, sessions } }, keys))
    const bounds = slotsWithin(account(), id)
    const change: Change = {
      ...{ before, after, now, slots: context.slots, share: 1, window: 30_000, self: "a", swept: false },
      account: bounds,
      ...about,
    }
    const wrong = [...violations(change), ...accountViolations(account(), id, change)]
    const limited = after.leases.size >= bounds.most && after.leases.size < context.slots
    members.set(id, { state: after, slots: context.slots, steppedAt: now, limited })
    return wrong
  }

  for (let n = 0; n < STEPS; n++) {
    now += random.pick(0, 0, 1, 400, 900, 2_000, 5_000)
    if (random.percent(4)) {
      cap = random.pick(0, 1, 2, 3, 5)
      reserved = reservationsOf(random, campaigns, cap)
    }
    const campaign = random.maybe(campaigns) ?? two[0]
    const wrong = taken(campaign, choose(campaign))
    if (wrong.length > 0) return { seed, prefix, steps, wrong }
  }
  return { seed, prefix, steps, wrong: [] }
}
