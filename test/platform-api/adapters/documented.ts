/** The tables of `src/docs/vendors.md` say of each vendor what the contract shows of it. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import type { Subject } from "./rig.ts"

const document = readFileSync(join(import.meta.dirname, "../../../src/docs/vendors.md"), "utf8")

/** A vendor's row of each table with these columns, by the table's last column. */
const rowOf = (platform: string, lastColumn: string): ReadonlyArray<string> => {
  const [, table = ""] = document.split(`| ${lastColumn} |\n`)
  const line = table
    .split("\n\n", 1)[0]
    ?.split("\n")
    .find((row) => row.startsWith(`| \`${platform}\` |`))
  assert.isDefined(line, `${platform} in the table that ends with ${lastColumn}`)
  return (line ?? "").split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/g, ""))
}

/** The gate itself makes the credential, so nothing at the vendor can be in doubt; an offer is a start too. */
const asksNothing = ({ asksToStart, shape }: Subject): boolean => !asksToStart && shape !== "sdp-relay"

export const documented = (subject: Subject): void => {
  const { atCapacity, ends, limit, lists, noticedAfterMinutes, otherEvent, platform, shape, startsNothing } = subject
  if (shape === undefined) return

  it("is described as it was tested: credential, ends, signature, longest call, capacity, doubts", () => {
    const [, , credential = "", , valid = ""] = rowOf(platform, "valid for connecting")
    if (credential !== "as the settings say") assert.include(credential, `\`${shape}\``)
    assert.strictEqual(valid.startsWith("the start window"), subject.unboundedLifetime === undefined, valid)

    const [, , signature = "", lost = "", ended = "", longest = ""] = rowOf(platform, "longest call")
    assert.strictEqual(signature === "none", otherEvent === undefined, signature)
    assert.strictEqual(lost.startsWith("the slot stays held"), noticedAfterMinutes === undefined, lost)
    assert.strictEqual(ended !== "no", ends, ended)
    if (limit !== undefined) assert.match(longest, /^set in each /)
    else assert.strictEqual(/\bended by the gate|the gate ends/.test(longest), ends, longest)

    const [, control = ""] = rowOf(platform, "sources")
    const most = ends ? "endable" : limit === undefined ? "unbounded" : "bounded"
    assert.isTrue(control.startsWith(`*${most}*`), control)

    const [, capacity = "", head = "", , doubt = ""] = rowOf(platform, "start that was not confirmed")
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
