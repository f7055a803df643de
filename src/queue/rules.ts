/** The rules of the queue, as requests to the store. */
import { Schema } from "effect"
import { runs } from "../rules/rules.ts"
import { ruleOf } from "../store/rule.ts"
import * as answers from "./answers.ts"

const { stepAnswer } = answers
const { Finite, Literal, Literals } = Schema

export const admit = ruleOf("queue.admit", runs["queue.admit"], stepAnswer(answers.admitted), true)
const takeAndAdmitRule = ruleOf("takeAndAdmit", runs.takeAndAdmit, stepAnswer(answers.takenAndAdmitted), true)
/** Hot path: the usual answer is checked by hand. */
export const takeAndAdmit: typeof takeAndAdmitRule = {
  ...takeAndAdmitRule,
  decode: (answer) => (answers.isPlainPlace(answer) ? answer : takeAndAdmitRule.decode(answer)),
}
export const start = ruleOf("queue.start", runs["queue.start"], stepAnswer(answers.started))
export const bind = ruleOf("queue.bind", runs["queue.bind"], stepAnswer(Literals(["live", "ended", "stale"])))
export const alias = ruleOf("queue.alias", runs["queue.alias"], stepAnswer(Literals(["kept", "ended", "stale"])))
export const fail = ruleOf("queue.fail", runs["queue.fail"], stepAnswer(answers.failed))
export const doubts = ruleOf("queue.doubts", runs["queue.doubts"], stepAnswer(answers.doubts))
export const resolve = ruleOf(
  "queue.resolve",
  runs["queue.resolve"],
  stepAnswer(Literals(["running", "open", "free", "stale"])),
)
export const end = ruleOf("queue.end", runs["queue.end"], stepAnswer(Literals(["released", "repeat", "unknown"])))
export const leave = ruleOf(
  "queue.leave",
  runs["queue.leave"],
  stepAnswer(Literals(["left", "busy", "over", "unknown"])),
)
export const withdraw = ruleOf("queue.withdraw", runs["queue.withdraw"], stepAnswer(Finite))
export const attach = ruleOf("queue.attach", runs["queue.attach"], stepAnswer(answers.standing))
export const heartbeat = ruleOf("queue.heartbeat", runs["queue.heartbeat"], stepAnswer(answers.heartbeat))
export const sweep = ruleOf("queue.sweep", runs["queue.sweep"], stepAnswer(answers.swept))
export const clear = ruleOf("queue.clear", runs["queue.clear"], stepAnswer(answers.cleared))
export const acknowledge = ruleOf("queue.acknowledge", runs["queue.acknowledge"], stepAnswer(Finite))
export const audit = ruleOf("queue.audit", runs["queue.audit"], stepAnswer(answers.audited))
export const reportOutage = ruleOf("queue.reportOutage", runs["queue.reportOutage"], stepAnswer(Finite))
export const gateGone = ruleOf("queue.gateGone", runs["queue.gateGone"], stepAnswer(Literal(true)))

export const look = ruleOf("operator.look", runs["operator.look"], stepAnswer(answers.look))
export const turnSwitch = ruleOf(
  "operator.turnSwitch",
  runs["operator.turnSwitch"],
  stepAnswer(answers.done(["done", "already"])),
)
export const callOne = ruleOf(
  "operator.callOne",
  runs["operator.callOne"],
  stepAnswer(answers.done(["called", "no_slot", "nobody", "more"])),
)
export const remove = ruleOf("operator.remove", runs["operator.remove"], stepAnswer(answers.done(["removed", "gone"])))
export const endLease = ruleOf(
  "operator.endLease",
  runs["operator.endLease"],
  stepAnswer(answers.done(["ended", "gone"])),
)
export const auditLog = ruleOf("operator.auditLog", runs["operator.auditLog"], stepAnswer(answers.auditLog))
