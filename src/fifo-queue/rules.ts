/** The rules of the queue, as the store runs them: the name of each, its function and the schema of its result. */
import { Schema } from "effect"
import { ruleOf } from "../store/rule.ts"
import { runAdmit, runQueue, runTakeAndAdmit } from "../store/rules/run.ts"
import * as answers from "./answers.ts"
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
import { gateGone, reportOutage } from "./rules/gates.ts"
import { heartbeat } from "./rules/heartbeat.ts"
import { leave } from "./rules/leave.ts"
import { offer } from "./rules/offer.ts"
import { act } from "./rules/operator/actions.ts"
import { auditLog } from "./rules/operator/audit-log.ts"
import { campaignSnapshot } from "./rules/operator/snapshot.ts"
import { repair } from "./rules/repair.ts"
import { sessionState } from "./rules/session-state.ts"
import { reportSilence, reportSpeech } from "./rules/silence.ts"
import { start } from "./rules/start.ts"
import { sweep } from "./rules/sweep.ts"
import { traceOf } from "./rules/trace.ts"
import { findUnopened, noteOpening } from "./rules/unopened.ts"
import { withdraw } from "./rules/withdraw.ts"

const { stepAnswer } = answers
const { Finite, Literal, Literals, String: Text } = Schema

const takeAndAdmit = ruleOf("takeAndAdmit", runTakeAndAdmit, stepAnswer(answers.takenAndAdmitted), {
  batch: true,
  texts: ["id", "network", "origin", "data"],
})

export const rules = {
  admit: ruleOf("queue.admit", runAdmit, stepAnswer(answers.admitted), {
    batch: true,
    texts: ["id", "network", "origin", "data"],
  }),
  /** Hot path: the usual answer is checked by hand. */
  takeAndAdmit: {
    ...takeAndAdmit,
    decode: (answer) => (answers.isPlainPlace(answer) ? answer : takeAndAdmit.decode(answer)),
  } satisfies typeof takeAndAdmit as typeof takeAndAdmit,
  start: ruleOf("queue.start", runQueue(start), stepAnswer(answers.started), { expires: true }),
  bind: ruleOf("queue.bind", runQueue(bind), stepAnswer(Literals(["live", "ended", "stale"]))),
  offer: ruleOf("queue.offer", runQueue(offer), stepAnswer(answers.offered)),
  alias: ruleOf("queue.alias", runQueue(alias), stepAnswer(Literals(["kept", "ended", "stale"]))),
  fail: ruleOf("queue.fail", runQueue(fail), stepAnswer(answers.failed)),
  doubts: ruleOf("queue.doubts", runQueue(doubts), stepAnswer(answers.doubts)),
  doubtAt: ruleOf("queue.doubtAt", runQueue(doubtAt), stepAnswer(answers.doubts)),
  resolve: ruleOf("queue.resolve", runQueue(resolve), stepAnswer(Literals(["running", "open", "free", "stale"]))),
  end: ruleOf("queue.end", runQueue(endOfSession), stepAnswer(Literals(["released", "again", "repeat", "unknown"]))),
  sessionState: ruleOf(
    "queue.sessionState",
    runQueue(sessionState),
    stepAnswer(Literals(["held", "ended", "unknown"])),
  ),
  leave: ruleOf("queue.leave", runQueue(leave), stepAnswer(Literals(["left", "busy", "ended", "unknown"]))),
  withdraw: ruleOf("queue.withdraw", runQueue(withdraw), stepAnswer(Finite)),
  attach: ruleOf("queue.attach", runQueue(attach), stepAnswer(answers.standing)),
  heartbeat: ruleOf("queue.heartbeat", runQueue(heartbeat), stepAnswer(answers.heartbeat)),
  checkKey: ruleOf("queue.checkKey", runQueue(checkKey), stepAnswer(Text)),
  repair: ruleOf("queue.repair", runQueue(repair), stepAnswer(answers.repaired)),
  sweep: ruleOf("queue.sweep", runQueue(sweep), stepAnswer(answers.swept)),
  clear: ruleOf("queue.clear", runQueue(clear), stepAnswer(answers.cleared)),
  acknowledge: ruleOf("queue.acknowledge", runQueue(acknowledge), stepAnswer(Finite)),
  audit: ruleOf("queue.audit", runQueue(audit), stepAnswer(answers.audited)),
  dueEnds: ruleOf("queue.dueEnds", runQueue(dueEnds), stepAnswer(answers.dueEnds)),
  findUnopened: ruleOf("queue.findUnopened", runQueue(findUnopened), stepAnswer(answers.audited)),
  noteOpening: ruleOf("queue.noteOpening", runQueue(noteOpening), stepAnswer(Text)),
  reportSpeech: ruleOf("queue.speech", runQueue(reportSpeech), stepAnswer(answers.speech)),
  reportSilence: ruleOf("queue.silence", runQueue(reportSilence), stepAnswer(answers.silence)),
  reportOutage: ruleOf("queue.reportOutage", runQueue(reportOutage), stepAnswer(Finite)),
  traceOf: ruleOf("queue.trace", runQueue(traceOf), stepAnswer(Text)),
  gateGone: ruleOf("queue.gateGone", runQueue(gateGone), stepAnswer(Literal(true))),
  act: ruleOf("operator.act", runQueue(act), stepAnswer(answers.performed)),
  auditLog: ruleOf("operator.auditLog", runQueue(auditLog), stepAnswer(answers.auditLog)),
  campaignSnapshot: ruleOf("operator.snapshot", runQueue(campaignSnapshot), stepAnswer(answers.campaignSnapshot)),
}
