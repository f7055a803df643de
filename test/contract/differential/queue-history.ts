/**
 * A random history of one campaign: callers come, wait, start, leave and vanish, the platform answers late or twice, slots
 * change, instances too, and time jumps to deadlines and past them. The invariants are checked after every step.
 */
import { admit } from "../../../src/queue/admit.ts"
import { clear } from "../../../src/queue/clear.ts"
import { scripts as operator, operatorKeysOf } from "../../../src/queue/console.ts"
import { doubts, resolve } from "../../../src/queue/doubt.ts"
import { end, leave } from "../../../src/queue/end.ts"
import { fail } from "../../../src/queue/fail.ts"
import { back, gone } from "../../../src/queue/gates.ts"
import { alias, bind, start } from "../../../src/queue/start.ts"
import { OVER_MILLIS, RETENTION_MILLIS, UNATTENDED_MILLIS } from "../../../src/queue/step.ts"
import { audit, settled, sweep } from "../../../src/queue/sweep.ts"
import { attach, touch } from "../../../src/queue/touch.ts"
import { withdraw } from "../../../src/queue/withdraw.ts"
import type { Script } from "../../../src/Store.ts"
import { list, text } from "../../../src/store/reply.ts"
import { EMPTY, expectedSettlements, expectedSignals, violations } from "../../support/queue-invariants.ts"
import { doubtIds, probe, readState } from "../../support/queue-probe.ts"
import { type History, recorder, type Step } from "./history.ts"
import { makeRandom } from "./random.ts"

export const scripts = {
  admit,
  start,
  bind,
  alias,
  fail,
  doubts,
  resolve,
  end,
  leave,
  withdraw,
  attach,
  touch,
  sweep,
  clear,
  settled,
  audit,
  back,
  gone,
  ...operator,
}
export type Scripts = { readonly [K in keyof typeof scripts]: Script }

const STEPS = 36
const CALL_MILLIS = 7_200_000
const FIRST_REST = 2_000
const LONGEST_REST = 60_000
const IDLE_REST = 5_000
const WHO = "192.0.2.9"

const strings = (values: ReadonlyArray<unknown>): string => values.map(String).toSorted().join("\n")

/** Whether what a step said to connections and to the limiter is exactly what it changed. */
const unsaid = (change: Parameters<typeof violations>[0], { published, reply }: Step, channel: string) => {
  const [, signals, settlements] = list(reply)
  const said = [
    ...list(signals).map((signal) => list(signal).map(text).join(" ")),
    ...published.map((message) => message.slice(message.indexOf(" ") + 1)),
  ]
  const owed = list(settlements).map((settlement) => list(settlement).map(text).join(" "))
  const wrong: Array<string> = []
  const expected = expectedSignals(change)
  if (strings(said) !== strings(expected)) wrong.push(`I5: said [${said.join(", ")}] for [${expected.join(", ")}]`)
  const due = expectedSettlements(change)
  if (strings(owed) !== strings(due)) wrong.push(`settled [${owed.join(", ")}] for [${due.join(", ")}]`)
  for (const each of due) if (change.after.settle.get(each) !== change.now) wrong.push(`${each} is not kept as owed`)
  for (const each of published) if (!each.startsWith(channel)) wrong.push(`published elsewhere: ${each}`)
  return wrong
}

/** Makes the history of a seed; `twins` may be wrong ones, to see whether that is found. */
export const queueHistory = (seed: number, twins: Scripts = scripts): History => {
  const random = makeRandom(seed)
  const prefix = `q${seed}:`
  const { look, run, steps } = recorder(operatorKeysOf(`${prefix}{${random.below(9)}}`))
  const window = random.pick([1_000, 30_000])
  const grace = random.pick([500, 5_000, 30_000])
  const startLease = random.pick([800, 30_000])
  const longest = random.pick([0, 2, 5, 100, 100])
  const share = random.pick([0.25, 0.25, 0.25, 0.5, 1])
  const attended = random.percent(75)
  let slots = random.pick([0, 1, 1, 2, 2, 3, 5])
  // in the others the queue is left to itself, and gets further
  const operated = random.percent(40)
  let now = 1_700_000_000_000 + random.below(1_000_000)
  let state = EMPTY

  const tickets: Array<string> = []
  /** withdrawn, though they are not admitted yet */
  const withdrawn: Array<string> = []
  const sessions: Array<string> = []
  const early: Array<string> = []
  const settlements: Array<string> = []
  const newSession = (): string => {
    sessions.push(`x${sessions.length}`)
    return `x${sessions.length - 1}`
  }

  /** A ticket in one of these states, or now and then any, or one that never was. */
  const ticket = (states: string): string => {
    if (random.percent(3)) return "nobody"
    const wanted = [...state.tickets].filter(([, t]) => states.includes(t.state)).map(([id]) => id)
    return (random.percent(85) ? random.maybe(wanted) : undefined) ?? random.maybe(tickets) ?? "nobody"
  }
  /** The ticket's lease, or now and then one that it held before or another holds. */
  const lease = (id: string): string =>
    random.percent(85)
      ? (state.tickets.get(id)?.lease ?? "0")
      : String(random.below(1 + (state.meta.get("lease") ?? 0)))

  const later = (): number => {
    const deadlines = [...state.leases.values(), ...state.presence.values(), ...state.parked.values()]
    deadlines.push(state.meta.get("rest") ?? 0, state.meta.get("probe") ?? 0)
    const next = random.maybe(deadlines.filter((deadline) => deadline >= now))
    switch (random.weighted({ same: 35, little: 25, deadline: 12, past: 15, far: 5 })) {
      case "same":
        return now
      case "little":
        return now + 1 + random.below(1_500)
      case "deadline":
        return next ?? now
      case "past":
        return (next ?? now) + 1
      case "far":
        return now + random.pick([5_000, 31_000, 60_000, RETENTION_MILLIS + 1, CALL_MILLIS + 1, OVER_MILLIS])
    }
  }

  const isOn = (field: "paused" | "draining"): boolean => state.meta.get(field) === 1

  /** by a gate whose last tick may be some time ago */
  const sweeping = (): readonly [script: Script, args: ReadonlyArray<string | number>] => [
    twins.sweep,
    [now + grace + 2_000, now - random.pick([0, 0, 1_900, 40_000])],
  ]

  const step = (): readonly [script: Script, args: ReadonlyArray<string | number>] => {
    // mostly what moves somebody on, so that histories get far; now and then what fits nobody
    const some = (states: string, weight: number): number =>
      [...state.tickets.values()].some((t) => states.includes(t.state)) ? weight : 2
    const op = random.weighted({
      admit: 20,
      start: some("c", 25),
      bind: some("s", 25),
      alias: some("l", 7),
      fail: some("s", 16),
      doubts: some("u", 3),
      resolve: some("u", 12),
      end: some("l", 14),
      leave: some("wc", 7),
      // seldom: it ends what the histories are after
      withdraw: 1,
      attach: some("wc", 14),
      touch: some("w", 8),
      sweep: 10,
      // as seldom as withdraw
      clear: 1,
      settled: 2,
      audit: 2,
      back: some("c", 3),
      gone: 1,
      look: operated ? 3 : 0,
      // switches stay on for a while, not for most of a history
      turn: operated ? 2 + (isOn("paused") ? 5 : 0) + (isOn("draining") ? 5 : 0) : 0,
      callOne: operated ? 4 : 0,
      remove: operated ? some("w", 4) : 0,
      endLease: operated ? some("cslu", 4) : 0,
      trail: operated ? 1 : 0,
    })
    switch (op) {
      case "admit": {
        const id = withdrawn.shift() ?? `t${tickets.length}`
        if (!tickets.includes(id)) tickets.push(id)
        const caller = random.pick(["", "+1.2.3.4", "-1.2.3.4", "+2001:db8::/64"])
        const network = random.pick(["", "9.8.7", "9.8.7", "9.8.7", "9.8.70", "2001:db8"])
        return [twins.admit, [id, longest, now + grace, now + startLease, caller, `{"of":"${id} ü/"}`, network]]
      }
      case "start":
        return [twins.start, [ticket("c"), now + startLease]]
      case "bind": {
        const id = ticket("s")
        const known = random.percent(25) ? random.maybe(early.splice(0, 1)) : undefined
        const ids = [...(random.percent(30) ? [newSession()] : []), known ?? newSession()]
        const session = JSON.stringify({ url: `wss://example/${id}`, s: ids })
        return [twins.bind, [id, lease(id), now + CALL_MILLIS, session, ...ids]]
      }
      case "alias": {
        const known = random.maybe([...state.sessions.keys()]) ?? "x?"
        const told = random.percent(25) ? random.maybe(early.splice(0, 1)) : undefined
        const further = [told ?? newSession(), ...(random.percent(20) ? [random.maybe(sessions) ?? known] : [])]
        return [twins.alias, [known, ...further.flatMap((id) => [id, JSON.stringify(id)])]]
      }
      case "fail": {
        const id = ticket("s")
        const why = random.weighted({
          capacity: 25,
          limited: 10,
          disrupted: 20,
          answered: 20,
          doubt: 25,
          failed: 12,
          refused: 8,
        })
        return [twins.fail, [id, lease(id), why, now + grace, FIRST_REST, LONGEST_REST, IDLE_REST]]
      }
      case "doubts":
        return [twins.doubts, [now - random.pick([0, 20_000]), now + 5_000]]
      case "resolve": {
        const some = (): string => JSON.stringify([newSession(), ...(random.percent(30) ? [newSession()] : [])])
        const known = random.maybe(sessions)
        const found = [
          ...(known !== undefined && random.percent(30) ? [JSON.stringify([known])] : []),
          ...(random.percent(35) ? [some()] : []),
        ]
        return [twins.resolve, [ticket("u"), now + CALL_MILLIS, ...found]]
      }
      case "end": {
        if (random.percent(15)) {
          const before = newSession()
          early.push(before)
          return [twins.end, [before]]
        }
        const id = (random.percent(75) ? random.maybe([...state.sessions.keys()]) : random.maybe(sessions)) ?? "x?"
        return [twins.end, random.percent(20) ? [id, random.maybe(sessions) ?? "x?"] : [id]]
      }
      case "leave":
        return [twins.leave, [ticket("wc")]]
      case "withdraw": {
        const ids = Array.from({ length: 1 + random.below(3) }, () => ticket("wcs")).filter((id) => id !== "nobody")
        if (random.percent(30)) {
          const id = `t${tickets.length}`
          tickets.push(id)
          withdrawn.push(id)
          ids.push(id)
        }
        return [twins.withdraw, [...new Set(ids)]]
      }
      case "attach":
        return [twins.attach, [ticket("wcsl"), random.pick(["", "a", "b", "c"]), now + grace]]
      case "touch":
        return [
          twins.touch,
          [random.percent(15) ? 0 : now + grace + 2_000, ...tickets.filter(() => random.percent(60)), "nobody"],
        ]
      case "sweep":
        return sweeping()
      case "clear":
        return [twins.clear, [now - random.pick([0, 1_000, 60_000])]]
      case "back":
        return [twins.back, [now - random.pick([0, 300, 2_000, 17_000, 100_000]), now + grace + 2_000]]
      case "gone":
        return [twins.gone, []]
      case "settled":
        return [twins.settled, [...settlements.filter(() => random.percent(50)), "refund nobody 1.2.3.4"]]
      case "audit":
        return [twins.audit, [now - random.pick([0, 60_000]), now + 30_000]]
      case "look":
        return [twins.look, [random.below(3), random.below(4), random.below(4), random.below(5)]]
      case "turn": {
        if (isOn("paused") && random.percent(70)) return [twins.turn, [WHO, "resume"]]
        if (isOn("draining") && random.percent(70)) return [twins.turn, [WHO, "reopen"]]
        return [twins.turn, [WHO, random.pick(["pause", "drain", "resume", "reopen"])]]
      }
      case "callOne":
        return [twins.callOne, [WHO]]
      case "remove":
        return [twins.remove, [WHO, random.maybe([...state.waiting.values()]) ?? random.below(9)]]
      case "endLease": {
        const [id, deadline] = random.maybe([...state.leases]) ?? ["nobody", now]
        return [twins.endLease, [WHO, lease(id), random.percent(85) ? deadline : now]]
      }
      case "trail":
        return [twins.trail, [random.below(3), random.below(6)]]
    }
  }

  /** Runs a step and answers what is wrong after it. */
  const taken = (
    script: Script,
    own: ReadonlyArray<string | number>,
    self = random.pick(["a", "b", ""]),
  ): ReadonlyArray<string> => {
    const args = [now, `${slots} ${share}`, self, prefix, window, ...own].map(String)
    const reply = run(script, args)
    const ids = [...tickets, ...doubtIds((state.meta.get("lease") ?? 0) + slots)]
    const after = readState(look(probe, [String(ids.length), ...ids, ...sessions]))
    const swept = script.name === "queue.sweep" && list(list(reply.reply)[0])[0] === 0
    const refused = script.name === "queue.fail" && own[2] === "refused"
    const withdraws = script.name === "queue.withdraw"
    const admits =
      script.name === "queue.admit" ? { admits: [String(own[0] ?? ""), String(own[4] ?? "")] as const } : {}
    const clears = script.name === "queue.clear"
    const shown = script.name === "queue.sweep" ? { shown: Number(own[1]) } : {}
    const change = {
      before: state,
      after,
      now,
      slots,
      share,
      window,
      self,
      swept,
      refused,
      withdraws,
      clears,
      ...shown,
      ...admits,
    }
    const wrong = [...violations(change), ...unsaid(change, reply, prefix)]
    for (const each of list(list(reply.reply)[2])) settlements.push(list(each).map(text).join(" "))
    state = after
    return wrong
  }

  for (let n = 0; n < STEPS; n++) {
    const then = later()
    // gates are there all the while, unless the store or all of them were away
    while (attended && then - now > UNATTENDED_MILLIS && then - now < 100_000) {
      now += UNATTENDED_MILLIS
      for (const gate of ["a", "b"]) {
        const wrong = taken(...sweeping(), gate)
        if (wrong.length > 0) return { seed, prefix, steps, wrong }
      }
    }
    now = then
    if (random.percent(6)) slots = random.below(5)
    const wrong = taken(...step())
    if (wrong.length > 0) return { seed, prefix, steps, wrong }
  }
  const ids = [...tickets, ...doubtIds(state.meta.get("lease") ?? 0)]
  run(probe, [String(ids.length), ...ids, ...sessions])
  run(twins.trail, [now, slots, "", prefix, window, 0, 100].map(String))
  return { seed, prefix, steps, wrong: [] }
}
