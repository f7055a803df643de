/**
 * Generates the tables of settings in `src/docs/configuration.md` from their schema, one below the heading of each group, and below that
 * of the platform one for each vendor:
 *
 *     node scripts/settings-table.ts
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { vendorFields } from "../src/platform-api/vendors.ts"
import { type SettingRow, settingRows } from "../src/settings/showing/table.ts"

const HEAD = "| setting | default | meaning |\n|---|---|---|\n"

/** The path prefix of each group, by heading. */
const GROUPS = {
  Store: "StoreConnectionString",
  Platform: "VoiceAiPlatform.",
  "Address checks": "IpIntel.",
  "Security and limits": "Security.",
  Identity: "Identity.",
  Queue: "Queue.",
  Privacy: "Privacy.",
  Server: "Server.",
}

const cell = (text: string): string => text.replaceAll("|", "\\|")

const row = ({ default: value, description, documentation, path }: SettingRow): string => {
  const words = documentation === undefined ? description : `${description}. ${documentation}`
  return `| \`${path}\` | ${cell(value)} | ${cell(words)} |`
}

const table = (rows: ReadonlyArray<SettingRow>): string => `${HEAD}${rows.map(row).join("\n")}`

/** The vendor whose own setting it is. */
const vendorOf = ({ path }: SettingRow): string | undefined => {
  const [, group = ""] = /^VoiceAiPlatform\.(\w+)\./.exec(path) ?? []
  return group in vendorFields ? group : undefined
}

/** The tables below a heading: that of the group, and those of the vendors. */
const tablesOf = (rows: ReadonlyArray<SettingRow>): string => {
  const byVendor = Map.groupBy(rows, vendorOf)
  return [...byVendor]
    .map(([vendor, own]) => (vendor === undefined ? table(own) : `#### ${vendor}\n\n${table(own)}`))
    .join("\n\n")
}

/** The document with regenerated tables of settings. */
export const withSettingsTables = (document: string): string => {
  let written = document
  for (const [heading, prefix] of Object.entries(GROUPS)) {
    const from = written.indexOf(`\n### ${heading}\n`)
    const start = written.indexOf(HEAD, from)
    if (from < 0 || start < 0) throw new Error(`The document has no table below its heading ${heading}.`)
    const vendors = prefix === "VoiceAiPlatform."
    const end = written.indexOf(vendors ? "\n\n### " : "\n\n", start)
    const tables = tablesOf(settingRows.filter(({ path }) => path.startsWith(prefix)))
    written = `${written.slice(0, start)}${tables}${end < 0 ? "\n" : written.slice(end)}`
  }
  return written
}

if (process.argv[1] === import.meta.filename) {
  const file = join(import.meta.dirname, "../src/docs/configuration.md")
  writeFileSync(file, withSettingsTables(readFileSync(file, "utf8")))
}
