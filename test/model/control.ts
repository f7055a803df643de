/**
 * The promises of `src/docs/control.md` and `control-reference.md` by the short names that harnesses cite: of calls that are limited in length, of tokens, of hours, of
 * offers, of budgets and of events. `offers.ts` judges what callers are offered; `budgets.ts` and `budget-steps.ts` judge the books of budgets; `lengths.ts` judges a campaign's data after every step, `events.ts` what a step must tell the host, `obligations.ts` what who waits at the
 * close gets back. The simulation adds what takes time: that calls and waits end, and that events arrive.
 */

/** Each with the words of the document that state it. */
export const CONTROL_PROMISES = {
  L1: "Whichever gate dies, a call ends within half a minute of its limit, if the vendor ends it when asked.",
  L2: "A page is warned only of a limit that the call has at that moment and that a gate enforces.",
  L3: "One gate at a time ends a call, and none ends it before its limit.",
  T1: "With `Identity.SingleUse` a token leads to one ticket.",
  T2: "the limits count this customer at any address, and do not count others at the same address",
  H1: "**Callers who wait at the close** keep their places and are served for `AfterCloseMinutes`.",
  H2: "Then their wait ends with the reason `closed`, and the request does not count toward the limits.",
  H3: "**New callers** are refused with 503 `closed` while the campaign is closed",
  O1: "A wait is long when the caller has waited longer than `AfterSeconds`, or is expected to.",
  O2: "Then the answer 202 and the ticket's state have the offers as `offers`, and a connected page gets the event `offer` once.",
  O3: "Two kinds of offers are left out: a campaign that would refuse the caller, because it is closed or a budget of it or of its account is used up, and the campaign itself.",
  O4: "A caller who follows a link or calls a number keeps the place until they leave.",
  B1: "in each window of each budget, what is settled and what is held never exceed the cap together",
  B2: "The exceptions are counted as overrun",
  B3: "A call counts in the hour, day and month in which it **began**, at the price of that moment.",
  B4: "The length of a call is measured from when the platform has started it until its end is known, without the time beyond its [limit](control.md#call-length) in which no gate served its campaign, and rounded once",
  B5: "another gate charges the call, with the length that it had",
  B6: "what it had held is given back, within minutes, once it is known that the start has failed",
  B7: "a share of a [budget](#budgets)'s cap is used (`AlertAt`), once a window",
  B8: "A call begins only if `Budget.EndLeadSeconds` and 10 more seconds are left",
  B9: "`id` names the change, so one that is sent again is made once",
  C1: "the same windows are corrected, once for each report",
  E1: "The store writes an event in the same step that changes the ticket.",
  E2: "Events come **at least once**",
  E3: "The events of one ticket come in order, one at a time.",
  E4: "`durationSeconds` of `call.ended` is the length that is [charged](#what-counts-and-where) where the campaign has budgets, before it is rounded up",
} as const
