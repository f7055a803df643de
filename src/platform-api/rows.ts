/**
 * What each vendor can, for the documents: the tables of `src/docs/vendors.md`, and the heading of each of their columns.
 * `node scripts/vendor-tables.ts` writes them. [?] marks what only a real key can tell.
 */
export const TABLES = [
  {
    sdk: "page's SDK",
    credential: "credential",
    opens: "opens",
    validFor: "valid for connecting",
  },
  {
    end: "end of a call",
    signature: "signature",
    lostWebhook: "lost webhook",
    endedByGate: "ended by the gate when the caller leaves, or an operator ends the call",
    longestCall: "longest call",
  },
  {
    atCapacity: "at capacity",
    headOfQueue: "head of the queue kept",
    slots: "slots",
    unconfirmed: "start that was not confirmed",
  },
  {
    control: "control of a call",
    silence: "who hears that a call is [silent](wire.md#silent-calls)",
    lookedAt: "looked at",
    sources: "sources",
  },
] as const

/** The cells of a vendor, in Markdown. */
export type VendorRows = { readonly [Column in (typeof TABLES)[number] as keyof Column]: string }
