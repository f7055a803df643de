/** The contract of the queue on every store: the life of a ticket, the hard cases and the invariants of the design. */
import type { Layer } from "effect"
import type { Store } from "../../src/store/Store.ts"
import { accounts } from "./queue/accounts.ts"
import { admission } from "./queue/admission.ts"
import { budgetWaits } from "./queue/budget-waits.ts"
import { calling } from "./queue/calling.ts"
import { capacity } from "./queue/capacity.ts"
import { charges } from "./queue/charges.ts"
import { clearing } from "./queue/clearing.ts"
import { deadlines } from "./queue/deadlines.ts"
import { doubts } from "./queue/doubts.ts"
import { endedLeases } from "./queue/ended-leases.ts"
import { failures } from "./queue/failures.ts"
import { queueTest } from "./queue/harness.ts"
import { held } from "./queue/held.ts"
import { holds } from "./queue/holds.ts"
import { instances } from "./queue/instances.ts"
import { lengths } from "./queue/lengths.ts"
import { networks } from "./queue/networks.ts"
import { offers } from "./queue/offers.ts"
import { operator } from "./queue/operator.ts"
import { outagePlaces } from "./queue/outage-places.ts"
import { outageTurns } from "./queue/outage-turns.ts"
import { ownBudgetWaits } from "./queue/own-budget-waits.ts"
import { pauses } from "./queue/pauses.ts"
import { presence } from "./queue/presence.ts"
import { quarantine } from "./queue/quarantine.ts"
import { refusals } from "./queue/refusals.ts"
import { sessions } from "./queue/sessions.ts"
import { signals } from "./queue/signals.ts"
import { silence } from "./queue/silence.ts"
import { traces } from "./queue/traces.ts"
import { unopened } from "./queue/unopened.ts"
import { unreported } from "./queue/unreported.ts"
import { withdrawal } from "./queue/withdrawal.ts"

export const queueContract = (store: Layer.Layer<Store>): void => {
  const test = queueTest(store)
  admission(test)
  calling(test)
  sessions(test)
  offers(test)
  unopened(test)
  capacity(test)
  accounts(test)
  failures(test)
  refusals(test)
  doubts(test)
  presence(test)
  held(test)
  quarantine(test)
  outageTurns(test)
  outagePlaces(test)
  holds(test)
  networks(test)
  deadlines(test)
  lengths(test)
  signals(test)
  traces(test)
  withdrawal(test)
  clearing(test)
  operator(test)
  pauses(test)
  budgetWaits(test)
  ownBudgetWaits(test)
  endedLeases(test)
  silence(test)
  unreported(test)
  charges(store)
  instances(store)
}
