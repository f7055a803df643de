/** The rules of the event log, as the store runs them. */
import { ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import { DeliveryRows, EventTexts, Redelivered, SettledEvent, Ticked } from "./answers.ts"
import { listDeliveries, redeliver } from "./rules/deliveries.ts"
import { readEvents } from "./rules/read.ts"
import { settleEvent } from "./rules/settle.ts"
import { tickEvents } from "./rules/tick.ts"

export const rules = {
  read: ruleOf("events.read", runPlain(readEvents), EventTexts),
  tick: ruleOf("events.tick", runPlain(tickEvents), Ticked),
  settle: ruleOf("events.settle", runPlain(settleEvent), SettledEvent),
  deliveries: ruleOf("events.deliveries", runPlain(listDeliveries), DeliveryRows),
  redeliver: ruleOf("events.redeliver", runPlain(redeliver), Redelivered),
}
