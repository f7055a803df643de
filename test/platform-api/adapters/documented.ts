/** The rows of each vendor say what the contract shows of it. */

import { assert, it } from "@effect/vitest"
import type { ContractFacts } from "../../../src/platform-api/contract.ts"
import type { VendorRows } from "../../../src/platform-api/rows.ts"

/** The gate itself makes the credential, so nothing at the vendor can be in doubt; an offer is a start too. */
const asksNothing = ({ asksToStart, shape }: ContractFacts): boolean => !asksToStart && shape !== "sdp-relay"

export const documented = (subject: ContractFacts): void => {
  const { atCapacity, ends, limit, lists, noticedAfterMinutes, otherEvent, platform, shape, startsNothing } = subject
  if (shape === undefined) return

  it("is described as it was tested: credential, ends, signature, longest call, capacity, doubts", async () => {
    const { rows }: { readonly rows: VendorRows } = await import(`../../../src/platform-api/${platform}/rows.ts`)
    const { credential, validFor: valid } = rows
    if (credential !== "as the settings say") assert.include(credential, `\`${shape}\``)
    assert.strictEqual(valid.startsWith("the start window"), subject.unboundedLifetime === undefined, valid)

    const { endedByGate: ended, longestCall: longest, lostWebhook: lost, signature } = rows
    assert.strictEqual(signature === "none", otherEvent === undefined, signature)
    assert.strictEqual(lost.startsWith("the slot stays held"), noticedAfterMinutes === undefined, lost)
    assert.strictEqual(ended !== "no", ends, ended)
    if (limit !== undefined) assert.match(longest, /^set in each /)
    else assert.strictEqual(/\bended by the gate|the gate ends/.test(longest), ends, longest)

    const { control } = rows
    const most = ends ? "endable" : limit === undefined ? "unbounded" : "bounded"
    assert.isTrue(control.startsWith(`*${most}*`), control)

    const { atCapacity: capacity, headOfQueue: head, unconfirmed: doubt } = rows
    const refuses = atCapacity.length > 0 || shape === "sdp-relay"
    assert.strictEqual(head.startsWith("yes"), refuses, head)
    assert.strictEqual(capacity.includes("the gate does not learn it [?]"), !refuses, capacity)
    const begins = lists
      ? "found in the list"
      : startsNothing === true || asksNothing(subject)
        ? "cannot happen"
        : "holds its slot for five minutes"
    assert.isTrue(doubt.startsWith(begins), doubt)
  })
}
