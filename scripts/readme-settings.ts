/**
 * Writes the README's table of settings from their schema:
 *
 *     node scripts/readme-settings.ts
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type SettingRow, settingRows } from "../src/settings/table.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const row = ({ default: value, description, documentation, path }: SettingRow): string => {
  const words = documentation === undefined ? description : `${description}. ${documentation}`
  return `| \`${path}\` | ${cell(value)} | ${cell(words)} |`
}

/** The README with its table of settings as the schema has it. */
export const withSettingsTable = (readme: string): string => {
  const head = "| setting | default | |\n|---|---|---|\n"
  const start = readme.indexOf(head)
  if (start < 0) throw new Error("The README has no table of settings.")
  const end = readme.indexOf("\n\n", start)
  return `${readme.slice(0, start)}${head}${settingRows.map(row).join("\n")}${readme.slice(end)}`
}

if (process.argv[1] === import.meta.filename) {
  const file = join(import.meta.dirname, "../README.md")
  writeFileSync(file, withSettingsTable(readFileSync(file, "utf8")))
}
