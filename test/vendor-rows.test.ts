/** The vendors' part of the documents, and the script that lists old rows. */
import { assert, describe, it } from "@effect/vitest"
import { readDocument } from "../scripts/docs/documents.ts"
import { ageInDays, outdated } from "../scripts/vendor-rows.ts"
import { vendorParts, withVendors } from "../scripts/vendor-tables.ts"
import { rows } from "../src/platform-api/deepgram/rows.ts"
import type { VendorRows } from "../src/platform-api/rows.ts"

const NOW = Date.parse("2026-11-26T12:00:00Z")

const part = (platform: string, cells: Partial<VendorRows>) => ({ platform, rows: { ...rows, ...cells } })

describe("the rows of the vendors", () => {
  it("the rows of the vendors and their sections are in the document as `node scripts/vendor-tables.ts` writes them", () => {
    const document = readDocument("vendors")
    assert.strictEqual(withVendors(document), document)
  })

  it("have a date and a source for each vendor, and say whether the gate can end a call", () => {
    for (const each of vendorParts) {
      assert.isTrue(Number.isFinite(ageInDays(each, NOW)), each.platform)
      assert.isNotEmpty(each.rows.sources, each.platform)
      assert.match(each.rows.control, /^\*(endable|bounded|unbounded)\*/, each.platform)
    }
  })

  it("are listed once they are older than so many days, or without a date", () => {
    const untried = Object.values(rows).filter((cell) => cell.includes("[?]")).length
    const parts = [
      part("new", { lookedAt: "2026-11-26" }),
      part("old", { lookedAt: "2026-08-27", sources: "docs.old.example; sdk 1.2.3" }),
      part("undated", { lookedAt: "soon", sources: "–" }),
    ]
    assert.deepStrictEqual(
      parts.map((each) => ageInDays(each, NOW)),
      [0, 91, Number.POSITIVE_INFINITY],
    )
    assert.deepStrictEqual(outdated(parts, NOW, 90), [
      `old: looked at: 2026-08-27, 91 days ago; ${untried} cells with [?]; sources: docs.old.example; sdk 1.2.3`,
      `undated: looked at: no date; ${untried} cells with [?]; sources: –`,
    ])
    assert.lengthOf(outdated(parts, NOW, 91), 1)
  })
})
