/**
 * Writes into `src/docs/vendors.md` what stands in the vendors' folders: the rows of its tables (`rows.ts`) and a section each (`section.md`).
 *
 *     node scripts/vendor-tables.ts
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { TABLES, type VendorRows } from "../src/platform-api/rows.ts"
import { VENDORS } from "../src/platform-api/vendors.ts"

const source = join(import.meta.dirname, "../src")

/** A vendor's part of the document. */
export interface VendorPart {
  readonly platform: string
  readonly rows: VendorRows
  readonly section: string
}

const read = async (platform: string): Promise<VendorPart> => {
  const { rows }: { readonly rows: VendorRows } = await import(`../src/platform-api/${platform}/rows.ts`)
  return { platform, rows, section: readFileSync(join(source, "platform-api", platform, "section.md"), "utf8") }
}

/** Of each vendor, in the order of the settings. */
export const vendorParts: ReadonlyArray<VendorPart> = await Promise.all(VENDORS.map(({ platform }) => read(platform)))

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |\n`

/** The document with the table that has these columns written anew. */
const withTable = (document: string, columns: Readonly<Record<string, string>>): string => {
  const head = line(["vendor", ...Object.values(columns)])
  const start = document.indexOf(head)
  const end = document.indexOf("\n\n", start) + 1
  if (start < 0 || end < 1) throw new Error(`The document has no table with the head ${head}`)
  const rows = vendorParts.map(({ platform, rows }) => {
    const cells: Readonly<Record<string, string>> = rows
    return line([`\`${platform}\``, ...Object.keys(columns).map((column) => cells[column] ?? "")])
  })
  return `${document.slice(0, start)}${head}${`|${"---|".repeat(Object.keys(columns).length + 1)}\n`}${rows.join("")}${document.slice(end)}`
}

/** The heading before the sections of the vendors, and that after them. */
const BEFORE = "\n## An SDK that asks for its own session\n"
const AFTER = "\n## Try it\n"

const withSections = (document: string): string => {
  const before = document.indexOf(BEFORE)
  const start = document.indexOf("\n## ", before + BEFORE.length)
  const end = document.indexOf(AFTER)
  if (before < 0 || end < start) throw new Error(`The document has no headings${BEFORE}and${AFTER}`)
  const sections = vendorParts.map(({ section }) => `\n${section}`)
  return `${document.slice(0, start)}${sections.join("")}${document.slice(end)}`
}

/** The document with all that the vendors' folders say. */
export const withVendors = (document: string): string => withSections(TABLES.reduce(withTable, document))

if (process.argv[1] === import.meta.filename) {
  const file = join(source, "docs/vendors.md")
  writeFileSync(file, withVendors(readFileSync(file, "utf8")))
}
