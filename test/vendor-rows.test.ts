/** The dates and sources of the vendors' rows in the documents, and the script that lists old ones. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ageInDays, outdated, vendorRows } from "../scripts/vendor-rows.ts"
import { VENDORS } from "../src/settings/groups/vendors.ts"

const document = readFileSync(join(import.meta.dirname, "../src/docs/vendors.md"), "utf8")
const TABLE = `| vendor | control of a call | looked at | sources |
|---|---|---|---|
| \`new\` | *endable* | 2026-11-26 | docs.new.example |
| \`old\` | *bounded* | 2026-08-27 | docs.old.example; sdk 1.2.3 |
| \`undated\` | *bounded* | soon | – |

| vendor | at capacity |
|---|---|
| \`old\` | refuses [?] |
`
const NOW = Date.parse("2026-11-26T12:00:00Z")

describe("the rows of the vendors", () => {
  it("have a date and a source for each vendor, and say whether the gate can end a call", () => {
    const rows = vendorRows(document)
    assert.deepStrictEqual(
      rows.map(({ vendor }) => vendor),
      [...VENDORS],
    )
    for (const row of rows) {
      assert.isDefined(row.lookedAt, row.vendor)
      assert.isNotEmpty(row.sources, row.vendor)
      assert.match(document, new RegExp(`^\\| \`${row.vendor}\` \\| \\*(endable|bounded|unbounded)\\*`, "m"))
    }
  })

  it("are listed once they are older than so many days, or without a date", () => {
    const rows = vendorRows(TABLE)
    assert.deepStrictEqual(
      rows.map((row) => ageInDays(row, NOW)),
      [0, 91, Number.POSITIVE_INFINITY],
    )
    assert.deepStrictEqual(outdated(rows, NOW, 90), [
      "old: looked at: 2026-08-27, 91 days ago; 1 cells with [?]; sources: docs.old.example; sdk 1.2.3",
      "undated: looked at: no date; 0 cells with [?]; sources: –",
    ])
    assert.lengthOf(outdated(rows, NOW, 91), 1)
    assert.lengthOf(vendorRows("no table"), 0)
  })
})
