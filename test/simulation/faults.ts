/**
 * Planted faults: each is a plausible mistake in a rule of the store, and the simulation must find each within a
 * bounded number of histories. They exist only here, on the embedded store. A file for what they break.
 */
import { accountFaults } from "./faults/accounts.ts"
import { admissionFaults } from "./faults/admission.ts"
import { budgetWaitFaults } from "./faults/budget-waits.ts"
import { budgetFaults } from "./faults/budgets.ts"
import { deadlineFaults } from "./faults/deadlines.ts"
import { eventFaults } from "./faults/events.ts"
import { gateFaults } from "./faults/gates.ts"
import { heldFaults } from "./faults/held.ts"
import { hoursFaults } from "./faults/hours.ts"
import { lengthFaults } from "./faults/lengths.ts"
import { networkFaults } from "./faults/networks.ts"
import { offerFaults } from "./faults/offers.ts"
import { outageFaults } from "./faults/outages.ts"
import { sessionFaults } from "./faults/sessions.ts"
import { settlementFaults } from "./faults/settlements.ts"
import { startFaults } from "./faults/starts.ts"
import { tokenFaults } from "./faults/tokens.ts"
import type { Planted } from "./world.ts"

export const faults: ReadonlyArray<Planted> = [
  ...admissionFaults,
  ...networkFaults,
  ...sessionFaults,
  ...settlementFaults,
  ...deadlineFaults,
  ...heldFaults,
  ...startFaults,
  ...gateFaults,
  ...outageFaults,
  ...accountFaults,
  ...lengthFaults,
  ...budgetFaults,
  ...budgetWaitFaults,
  ...hoursFaults,
  ...offerFaults,
  ...eventFaults,
  ...tokenFaults,
]
