/**
 * The promises of `src/docs/control.md` by the short names that harnesses cite: of calls that are limited in length, of tokens, of hours, of
 * budgets and of events. `budgets.ts` and `budget-steps.ts` judge the books of budgets; `lengths.ts` judges a campaign's data after every step, `events.ts` what a step must tell the host, `obligations.ts` what who waits at the
 * close gets back. The simulation adds what takes time: that calls and waits end, and that events arrive.
 */

/** Each with the words of the document that state it. */
export const CONTROL_PROMISES = {
  L1: "A call ends within half a minute of its limit, whichever gate dies, if the vendor ends it when asked.",
  L2: "No page is warned of an end that does not come.",
  L3: "One gate at a time ends a call, and none ends it before its limit.",
  T1: "With `Identity.SingleUse` a token leads to one ticket.",
  T2: "the limits count that customer, over whatever address, and nobody else at the address",
  H1: "**Who waits at the close** keeps the place and is served for `AfterCloseMinutes`.",
  H2: "Then the wait ends with the reason `closed`, and the request does not count toward the limits.",
  H3: "**A newcomer** is refused with 503 `closed` while the campaign is closed",
  B1: "for every budget and window, what is settled and what is held together never exceed the cap",
  B2: "These can pass it, and what passes is counted as overrun",
  B3: "A call counts in the hours, days and months in which it **began**, at the price at which it began.",
  B4: "The length of a call is measured from when the platform has started it until its end is known, and rounded once",
  B5: "another gate charges it, with its length as it was",
  B6: "what it had held is given back when the start is known to have come to nothing",
  B7: "a share of a [budget](#budgets)'s cap is used (`AlertAt`), once a window",
  B8: "A call begins only with at least `Budget.EndLeadSeconds` and 10 seconds.",
  B9: "`id` names the adjustment, so one that is sent again is made once",
  C1: "into the same windows, and once for each thing that is said",
  E1: "An event is written in the same step of the store that changes the ticket.",
  E2: "Events come **at least once**",
  E3: "Those of one ticket come in order, one at a time.",
} as const
