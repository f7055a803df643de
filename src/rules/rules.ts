/** All rules, by the names that the store uses. */
import { agreeOnSecret } from "./caller-names.ts"
import { readCapacity, saveCapacity } from "./capacity.ts"
import { forgetCampaign, gateHeartbeat } from "./gates-shared.ts"
import { claimToken, recallTickets, rememberTicket } from "./hub-memory.ts"
import { callOne, endLease, remove, turnSwitch } from "./operator/actions.ts"
import { auditLog } from "./operator/audit-log.ts"
import { look } from "./operator/look.ts"
import { report, survey } from "./operator/registry.ts"
import { acknowledge } from "./queue/acknowledge.ts"
import { alias } from "./queue/alias.ts"
import { attach } from "./queue/attach.ts"
import { audit } from "./queue/audit.ts"
import { bind } from "./queue/bind.ts"
import { clear } from "./queue/clear.ts"
import { doubts, resolve } from "./queue/doubts.ts"
import { endOfSession } from "./queue/end.ts"
import { fail } from "./queue/fail.ts"
import { gateGone, reportOutage } from "./queue/gates.ts"
import { heartbeat } from "./queue/heartbeat.ts"
import { leave } from "./queue/leave.ts"
import { start } from "./queue/start.ts"
import { sweep } from "./queue/sweep.ts"
import { withdraw } from "./queue/withdraw.ts"
import { runAdmit, runGiveBack, runPlain, runQueue, runTake, runTakeAndAdmit } from "./run.ts"

export const runs = {
  "queue.admit": runAdmit,
  "queue.start": runQueue(start),
  "queue.bind": runQueue(bind),
  "queue.alias": runQueue(alias),
  "queue.fail": runQueue(fail),
  "queue.doubts": runQueue(doubts),
  "queue.resolve": runQueue(resolve),
  "queue.end": runQueue(endOfSession),
  "queue.leave": runQueue(leave),
  "queue.withdraw": runQueue(withdraw),
  "queue.attach": runQueue(attach),
  "queue.heartbeat": runQueue(heartbeat),
  "queue.sweep": runQueue(sweep),
  "queue.clear": runQueue(clear),
  "queue.acknowledge": runQueue(acknowledge),
  "queue.audit": runQueue(audit),
  "queue.reportOutage": runQueue(reportOutage),
  "queue.gateGone": runQueue(gateGone),
  "operator.look": runQueue(look),
  "operator.turnSwitch": runQueue(turnSwitch),
  "operator.callOne": runQueue(callOne),
  "operator.remove": runQueue(remove),
  "operator.endLease": runQueue(endLease),
  "operator.auditLog": runQueue(auditLog),
  "operator.report": runPlain(report),
  "operator.survey": runPlain(survey),
  "limits.take": runTake,
  "limits.giveBack": runGiveBack,
  takeAndAdmit: runTakeAndAdmit,
  "callerNames.agree": runPlain(agreeOnSecret),
  "hub.claim": runPlain(claimToken),
  "hub.remember": runPlain(rememberTicket),
  "hub.recall": runPlain(recallTickets),
  "capacity.look": runPlain(readCapacity),
  "capacity.tell": runPlain(saveCapacity),
  "gates.beat": runPlain(gateHeartbeat),
  "gates.forget": runPlain(forgetCampaign),
} as const

export type RuleName = keyof typeof runs
