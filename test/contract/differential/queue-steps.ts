/** The steps of a random history: callers arrive, wait, start, leave and vanish, the platform answers late or twice, and operators act. */

import type { StepAnswer } from "../../../src/fifo-queue/answers.ts"
import type { ReportedEnd } from "../../../src/fifo-queue/rules/end.ts"
import type { QueueContext } from "../../../src/fifo-queue/rules/shared/step.ts"
import type { State } from "../../../src/fifo-queue/rules/shared/ticket.ts"
import type { rules } from "../../../src/fifo-queue/rules.ts"
import type { Settlement } from "../../../src/protocol/settlements.ts"
import type { Rule } from "../../../src/store/Store.ts"
import type { Change } from "../../model/change.ts"
import { wrongEnd } from "../../model/ends.ts"
import type { QueueState } from "../../model/queue-state.ts"
import type { Message, recorder } from "./history.ts"
import type { RandomCampaign } from "./queue-campaign.ts"

export type Rules = typeof rules

const WHO = "192.0.2.9"

/** The input, the result, and what the invariants need to know of the step. */
export interface Done {
  readonly answer: StepAnswer<unknown>
  readonly published: ReadonlyArray<Message>
  readonly about: Partial<Change>
  /** what else is wrong between the states before and after it */
  readonly wrong?: (before: QueueState, after: QueueState) => ReadonlyArray<string>
}

/** A pending step. */
export interface Choice {
  readonly take: (context: QueueContext) => Done
  /** the gate that runs it; any gate if absent */
  readonly self?: string
}

/** Draws steps of a campaign. `asked` are its rules, of which some may be wrong. */
export const makeSteps = (campaign: RandomCampaign, run: ReturnType<typeof recorder>["run"], asked: Rules) => {
  const { controlled, operated, random, sessions, settlements, tickets } = campaign

  /** Runs a rule; `about` says what the invariants need to know of it. */
  const does = <Call extends object, R>(
    rule: Rule<QueueContext, Call, StepAnswer<R>>,
    call: Call,
    about: (result: R) => Partial<Change> = () => ({}),
  ): Choice => ({
    take: (context) => {
      const { answer, published } = run(rule, { now: campaign.now, context, call })
      return { answer, published, about: about(answer.result) }
    },
  })

  const ending = (call: ReportedEnd): Choice => ({
    take: (context) => {
      const { answer, published } = run(asked.end, { now: campaign.now, context, call })
      const wrong: Done["wrong"] = (before, after) => wrongEnd({ before, after, call, result: answer.result })
      return { answer, published, about: {}, wrong }
    },
  })

  /** by a gate whose last tick may be some time ago */
  const sweeping = (): Choice => {
    const shown = random.percent(10) ? undefined : campaign.now - random.pick(0, 0, 1_900, 40_000)
    const learned = {
      ...(random.percent(20) ? { heard: campaign.heard() } : {}),
      ...(random.percent(10) ? { suspect: true as const } : {}),
      ...(controlled && random.percent(70) ? { hours: campaign.hours() } : {}),
    }
    return does(asked.sweep, shown === undefined ? learned : { heartbeatAt: shown, ...learned }, ({ more }) => ({
      swept: !more,
      shown: shown ?? campaign.now,
    }))
  }

  const step = (): Choice => {
    // mostly steps that advance a ticket, so that histories get far; occasionally a step that fits no state
    const some = (weight: number, ...states: ReadonlyArray<State>): number =>
      [...campaign.state.tickets.values()].some((t) => states.includes(t.state)) ? weight : 2
    const op = random.weighted({
      admit: 20,
      start: some(25, "called"),
      bind: some(25, "starting"),
      offer: some(9, "live"),
      alias: some(7, "live"),
      fail: some(16, "starting"),
      doubts: some(3, "doubt"),
      resolve: some(12, "doubt"),
      end: some(14, "live"),
      sessionState: some(4, "live"),
      leave: some(7, "waiting", "called"),
      // rarely: it ends what the histories are about
      withdraw: 1,
      attach: some(14, "waiting", "called"),
      heartbeat: some(8, "waiting"),
      sweep: 10,
      // as rarely as withdraw
      clear: 1,
      acknowledge: 2,
      audit: 2,
      dueEnds: some(3, "live"),
      dueLengths: controlled ? some(8, "live") : 0,
      awaitBudget: controlled ? some(9, "waiting") : 0,
      findUnpaid: controlled ? 2 : 0,
      pay: controlled ? 3 : 0,
      reportOutage: some(3, "called"),
      gateGone: 1,
      snapshot: operated ? 3 : 0,
      // switches stay on for a while, not for most of a history
      switch: operated ? 2 + (campaign.isOn("paused") ? 5 : 0) + (campaign.isOn("draining") ? 5 : 0) : 0,
      call: operated ? 4 : 0,
      remove: operated ? some(4, "waiting") : 0,
      endLease: operated ? some(4, "called", "starting", "live", "doubt") : 0,
      auditLog: operated ? 1 : 0,
    })
    switch (op) {
      case "admit": {
        const call = campaign.newcomer()
        return does(asked.admit, call, () => ({ admits: [call.id, call.caller] }))
      }
      case "start":
        return does(asked.start, { id: campaign.ticket("called"), attempt: campaign.attempt() })
      case "bind": {
        const id = campaign.ticket("starting")
        const known = random.percent(25) ? campaign.endedEarly() : undefined
        const ids = [...(random.percent(30) ? [campaign.newSession()] : []), known ?? campaign.newSession()]
        const data = JSON.stringify({ url: `wss://example/${id}`, s: ids })
        const begins =
          controlled && random.percent(60)
            ? { endsAt: campaign.now + random.pick(5_000, 30_000, 90_000, 600_000) }
            : random.percent(35)
              ? { offerMillis: random.pick(1, 20_000, 60_000) }
              : {}
        return does(asked.bind, { id, lease: campaign.lease(id), data, sessions: ids, ...begins })
      }
      case "offer": {
        const id = campaign.ticket("live")
        const own = random.maybe(campaign.state.tickets.get(id)?.sessions ?? [])
        const session = (random.percent(90) ? own : random.maybe(sessions)) ?? "x?"
        return does(asked.offer, { id, session, data: `{"of":"${id}"}` })
      }
      case "alias": {
        const known = random.maybe([...campaign.state.sessions.keys()]) ?? "x?"
        const told = random.percent(25) ? campaign.endedEarly() : undefined
        const further = [
          told ?? campaign.newSession(),
          ...(random.percent(20) ? [random.maybe(sessions) ?? known] : []),
        ]
        return does(asked.alias, { known, further })
      }
      case "fail": {
        const id = campaign.ticket("starting")
        const reason = random.weighted({
          capacity: 25,
          limited: 10,
          elsewhere: 4,
          disrupted: 20,
          rejected: 15,
          answered: 20,
          doubt: 25,
          failed: 12,
          refused: 8,
          unpaid: controlled ? 25 : 0,
        })
        return does(asked.fail, campaign.failed(id, reason), () => ({ refused: reason === "refused" }))
      }
      case "doubts":
        return does(asked.doubts, { ageMillis: random.pick(0, 20_000), claimMillis: 5_000 })
      case "resolve": {
        const some = (): ReadonlyArray<string> => [
          campaign.newSession(),
          ...(random.percent(30) ? [campaign.newSession()] : []),
        ]
        const known = random.maybe(sessions)
        const candidates = [
          ...(known !== undefined && random.percent(30) ? [[known]] : []),
          ...(random.percent(35) ? [some()] : []),
        ]
        const id = campaign.ticket("doubt")
        const ends = random.percent(50) ? { ends: true as const } : {}
        return does(asked.resolve, { id, ...(candidates.length === 0 ? {} : { candidates }), ...ends })
      }
      case "end": {
        if (random.percent(15)) {
          return ending({ sessions: [campaign.endEarly()] })
        }
        const id =
          (random.percent(75) ? random.maybe([...campaign.state.sessions.keys()]) : random.maybe(sessions)) ?? "x?"
        const named = random.percent(20) ? [id, random.maybe(sessions) ?? "x?"] : [id]
        const by = campaign.reporter()
        // sometimes it only takes the place of a lost attempt
        return ending({
          sessions: campaign.endsNothing ? [] : named,
          ...(by === undefined ? {} : { by }),
          ...campaign.endAttempt(),
        })
      }
      case "sessionState":
        return does(asked.sessionState, { session: random.maybe(sessions) ?? "x?" })
      case "leave":
        return does(asked.leave, { id: campaign.ticket("waiting", "called") })
      case "withdraw": {
        return does(asked.withdraw, { ids: campaign.toWithdraw() }, () => ({ withdraws: true }))
      }
      case "attach": {
        const connected = random.percent(75)
        const id = campaign.ticket("waiting", "called", "starting", "live")
        const hidden = random.percent(25) ? { hidden: true as const } : {}
        return { ...does(asked.attach, { id, connected, ...hidden }), self: random.pick("", "a", "b", "c", "c") }
      }
      case "heartbeat": {
        const ids = [...tickets.filter(() => random.percent(60)), "nobody"]
        if (random.percent(40)) return does(asked.heartbeat, { ids })
        return does(asked.heartbeat, {
          ids,
          since: Math.max(0, (campaign.state.meta.get("changed") ?? 0) - random.pick(-1, 0, 0, 1, 5)),
          ...(random.percent(50) ? { closed: tickets.filter(() => random.percent(30)) } : {}),
          ...(random.percent(30) ? { places: true as const } : {}),
          ...(random.percent(30) ? { heldFrom: random.below(3) } : {}),
        })
      }
      case "sweep":
        return sweeping()
      case "clear":
        return does(asked.clear, { unservedMillis: random.pick(0, 1_000, 60_000) }, () => ({ clears: true }))
      case "reportOutage": {
        const report = { since: campaign.now - random.pick(0, 300, 2_000, 17_000, 100_000) }
        if (random.percent(50)) return does(asked.reportOutage, report)
        const more = random.percent(30) ? { more: true as const } : {}
        const starts = random.percent(40)
          ? { starts: [{ id: campaign.ticket("starting", "called", "waiting"), attempt: campaign.attempt() }] }
          : {}
        return does(asked.reportOutage, { ...report, ids: campaign.toWithdraw(), ...starts, ...more }, () => ({
          withdraws: true,
        }))
      }
      case "gateGone":
        return does(asked.gateGone, {})
      case "acknowledge": {
        const nobodys: Settlement = { kind: "refund", ticket: "nobody", caller: "1.2.3.4" }
        return does(asked.acknowledge, { settlements: [...settlements.filter(() => random.percent(50)), nobodys] })
      }
      case "audit":
        return does(asked.audit, { ageMillis: random.pick(0, 60_000), claimMillis: 30_000 })
      case "dueEnds":
        return does(asked.dueEnds, {
          claimMillis: 20_000,
          ...(random.percent(30) ? { atOnceOnly: true as const } : {}),
        })
      case "dueLengths":
        return does(asked.dueLengths, {
          claimMillis: 20_000,
          ...(random.percent(70) ? { ends: true as const } : {}),
        })
      case "awaitBudget":
        return does(asked.awaitBudget, { id: campaign.ticket("waiting"), until: campaign.budgetBegins() })
      case "findUnpaid":
        return does(asked.findUnpaid, { claimMillis: random.pick(0, 3_000) })
      case "pay": {
        const ids = [...[...campaign.state.unpaid.keys()].filter(() => random.percent(50)), "nobody"]
        return does(asked.pay, { ids }, () => ({ pays: ids }))
      }
      case "snapshot":
        return does(asked.campaignSnapshot, {
          firstSlot: random.below(3),
          slots: random.below(4),
          firstPlace: random.below(4),
          places: random.below(5),
        })
      case "switch": {
        const turn = (type: "pause" | "drain" | "resume" | "reopen") => does(asked.act, { who: WHO, action: { type } })
        if (campaign.isOn("paused") && random.percent(70)) return turn("resume")
        if (campaign.isOn("draining") && random.percent(70)) return turn("reopen")
        if (random.percent(20)) {
          const until = campaign.now + random.pick(1, 2_000, 60_000)
          return does(asked.act, { who: WHO, action: { type: "pause", until, untilText: `until ${until}` } })
        }
        return turn(random.pick("pause", "drain", "resume", "reopen"))
      }
      case "call":
        return does(asked.act, { who: WHO, action: { type: "call" } }, () => ({ anyway: true }))
      case "remove":
        return does(asked.act, {
          who: WHO,
          action: { type: "remove", seq: random.maybe([...campaign.state.waiting.values()]) ?? random.below(9) },
        })
      case "endLease": {
        const [id, deadline] = random.maybe([...campaign.state.leases]) ?? ["nobody", campaign.now]
        return does(asked.act, {
          who: WHO,
          action: {
            type: "end",
            lease: campaign.lease(id),
            deadline: random.percent(85) ? deadline : campaign.now,
            ...(random.percent(50) ? { claimMillis: 20_000 } : {}),
            ...(random.percent(30)
              ? { candidates: [[random.maybe(sessions) ?? campaign.newSession()], [campaign.newSession()]] }
              : {}),
          },
        })
      }
      case "auditLog":
        return does(asked.auditLog, { first: random.below(3), count: random.below(6) })
    }
  }

  return { step, sweeping }
}
