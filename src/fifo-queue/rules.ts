/** The rules of the queue, as the store runs them: the name of each, its function and the schema of its result. */
import { Schema } from "effect"
import { ruleOf } from "../store/rule.ts"
import * as answers from "./answers.ts"
import { Performed } from "./operator/actions.ts"
import { acknowledge } from "./rules/acknowledge.ts"
import { alias } from "./rules/alias.ts"
import { attach } from "./rules/attach.ts"
import { audit } from "./rules/audit.ts"
import { bind } from "./rules/bind.ts"
import { checkKey } from "./rules/check-keys.ts"
import { clear } from "./rules/clear.ts"
import { doubtAt, doubts, resolve } from "./rules/doubts.ts"
import { dueEnds } from "./rules/due-ends.ts"
import { endOfSession } from "./rules/end.ts"
import { fail } from "./rules/fail.ts"
import { gateGone, reportOutage } from "./rules/gate-reports.ts"
import { heartbeat } from "./rules/heartbeat.ts"
import { leave } from "./rules/leave.ts"
import { dueLengths } from "./rules/lengths.ts"
import { offer } from "./rules/offer.ts"
import { act } from "./rules/operator/act.ts"
import { auditLog } from "./rules/operator/audit-log.ts"
import { forgetInQueue } from "./rules/operator/forget.ts"
import { campaignSnapshot } from "./rules/operator/snapshot.ts"
import { repair } from "./rules/repair.ts"
import { runAdmit, runQueue } from "./rules/run.ts"
import { sessionState } from "./rules/session-state.ts"
import { reportSilence, reportSpeech } from "./rules/silence.ts"
import { billedCalls, callTimes, endAtBudget } from "./rules/spent.ts"
import { start } from "./rules/start.ts"
import { sweep } from "./rules/sweep.ts"
import { traceOf } from "./rules/trace.ts"
import { findUnopened, noteOpening } from "./rules/unopened.ts"
import { awaitBudget, findUnpaid, pay } from "./rules/unpaid.ts"
import { withdraw } from "./rules/withdraw.ts"

const { stepAnswer } = answers
const { Finite, String: Text } = Schema

export const rules = {
  admit: ruleOf("queue.admit", runAdmit, stepAnswer(answers.Admitted), {
    batch: true,
    texts: ["id", "caller", "network", "trace", "data"],
  }),
  start: ruleOf("queue.start", runQueue(start), stepAnswer(answers.Start), { expires: true }),
  bind: ruleOf("queue.bind", runQueue(bind), stepAnswer(answers.Binding)),
  offer: ruleOf("queue.offer", runQueue(offer), stepAnswer(answers.Offered)),
  alias: ruleOf("queue.alias", runQueue(alias), stepAnswer(answers.Aliased)),
  fail: ruleOf("queue.fail", runQueue(fail), stepAnswer(answers.Failed)),
  doubts: ruleOf("queue.doubts", runQueue(doubts), stepAnswer(answers.Doubts)),
  doubtAt: ruleOf("queue.doubtAt", runQueue(doubtAt), stepAnswer(answers.Doubts)),
  resolve: ruleOf("queue.resolve", runQueue(resolve), stepAnswer(answers.Resolved)),
  end: ruleOf("queue.end", runQueue(endOfSession), stepAnswer(answers.SessionEnd)),
  sessionState: ruleOf("queue.sessionState", runQueue(sessionState), stepAnswer(answers.SessionState)),
  leave: ruleOf("queue.leave", runQueue(leave), stepAnswer(answers.LeaveResult)),
  withdraw: ruleOf("queue.withdraw", runQueue(withdraw), stepAnswer(Finite)),
  attach: ruleOf("queue.attach", runQueue(attach), stepAnswer(answers.TicketSnapshot)),
  heartbeat: ruleOf("queue.heartbeat", runQueue(heartbeat), stepAnswer(answers.Heartbeat)),
  checkKey: ruleOf("queue.checkKey", runQueue(checkKey), stepAnswer(Text)),
  repair: ruleOf("queue.repair", runQueue(repair), stepAnswer(answers.Repaired)),
  sweep: ruleOf("queue.sweep", runQueue(sweep), stepAnswer(answers.Swept)),
  clear: ruleOf("queue.clear", runQueue(clear), stepAnswer(answers.Cleared)),
  acknowledge: ruleOf("queue.acknowledge", runQueue(acknowledge), stepAnswer(Finite)),
  audit: ruleOf("queue.audit", runQueue(audit), stepAnswer(answers.Sessions)),
  dueEnds: ruleOf("queue.dueEnds", runQueue(dueEnds), stepAnswer(answers.Sessions)),
  callTimes: ruleOf("queue.callTimes", runQueue(callTimes), stepAnswer(answers.CallTimes)),
  billedCalls: ruleOf("queue.billedCalls", runQueue(billedCalls), stepAnswer(answers.BilledCalls)),
  endAtBudget: ruleOf("queue.endAtBudget", runQueue(endAtBudget), stepAnswer(Schema.Boolean)),
  awaitBudget: ruleOf("queue.awaitBudget", runQueue(awaitBudget), stepAnswer(answers.Failed)),
  findUnpaid: ruleOf("queue.findUnpaid", runQueue(findUnpaid), stepAnswer(answers.UnpaidTickets)),
  pay: ruleOf("queue.pay", runQueue(pay), stepAnswer(Finite)),
  dueLengths: ruleOf("queue.dueLengths", runQueue(dueLengths), stepAnswer(answers.DueLengths)),
  findUnopened: ruleOf("queue.findUnopened", runQueue(findUnopened), stepAnswer(answers.Sessions)),
  noteOpening: ruleOf("queue.noteOpening", runQueue(noteOpening), stepAnswer(Text)),
  reportSpeech: ruleOf("queue.speech", runQueue(reportSpeech), stepAnswer(answers.Speech)),
  reportSilence: ruleOf("queue.silence", runQueue(reportSilence), stepAnswer(answers.Silence)),
  reportOutage: ruleOf("queue.reportOutage", runQueue(reportOutage), stepAnswer(Finite)),
  traceOf: ruleOf("queue.trace", runQueue(traceOf), stepAnswer(Text)),
  gateGone: ruleOf("queue.gateGone", runQueue(gateGone), stepAnswer(Schema.Boolean)),
  act: ruleOf("operator.act", runQueue(act), stepAnswer(Performed)),
  auditLog: ruleOf("operator.auditLog", runQueue(auditLog), stepAnswer(answers.AuditLog)),
  forget: ruleOf("operator.forget", runQueue(forgetInQueue), stepAnswer(answers.ForgottenTickets)),
  campaignSnapshot: ruleOf("operator.snapshot", runQueue(campaignSnapshot), stepAnswer(answers.CampaignSnapshot)),
}
