/**
 * The promises of `src/docs/promises.md` by the short names that every harness cites: unit tests, simulation, chaos and soak. `invariants.ts`
 * judges them by a campaign's data after every step, `obligations.ts` and `ends.ts` by what the step answered, `accounts.ts` between campaigns,
 * `lengths.ts` of calls with a time limit of their own,
 * `order.ts` and `over.ts` by what is left in the end. What else a suite judges is what it alone knows: its callers, its platform, its faults.
 */

/** Each with the sentence of the document that states it. */
export const PROMISES = {
  I1: "The gate never starts more calls than slots, on any number of instances.",
  I2: "Callers are called in the order in which they were accepted.",
  I3: "An accepted caller is in exactly one state and ends in exactly one.",
  I4: "What a dying process held is free again by its deadline.",
  I5: "One free slot calls one caller, once.",
  I6: "This holds when webhooks are repeated, early, late or lost, and when the process that took one died.",
  I7: "While a slot is free and a caller waits, one caller is called within a second.",
  I8: "A late answer or webhook for an old slot does not affect a newer one.",
} as const
