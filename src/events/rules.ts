/** The rules of the event log, as the store runs them. */
import { ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import { DeliveryRows, EventTexts, Faded, ForgottenEvents, Redelivered, SettledEvent, Ticked } from "./answers.ts"
import { listDeliveries, redeliver } from "./rules/deliveries.ts"
import { fadeEvents } from "./rules/fade.ts"
import { forgetEvents } from "./rules/forget.ts"
import { readEvents } from "./rules/read.ts"
import { settleEvent } from "./rules/settle.ts"
import { tickEvents } from "./rules/tick.ts"

export const rules = {
  read: ruleOf("events.read", runPlain(readEvents), EventTexts),
  tick: ruleOf("events.tick", runPlain(tickEvents), Ticked),
  settle: ruleOf("events.settle", runPlain(settleEvent), SettledEvent),
  deliveries: ruleOf("events.deliveries", runPlain(listDeliveries), DeliveryRows),
  fade: ruleOf("events.fade", runPlain(fadeEvents), Faded),
  forget: ruleOf("events.forget", runPlain(forgetEvents), ForgottenEvents),
  redeliver: ruleOf("events.redeliver", runPlain(redeliver), Redelivered),
}
