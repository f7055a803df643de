/** The settings in force, each with its value and where that is from, for `--print-config`. Secrets are masked. */
import { type Flat, type Given, isEmptyList } from "../sources/flat.ts"
import { makeMask } from "./masking.ts"
import { isKnown, plainText, type SettingRow, settingAt, settingRows } from "./table.ts"

/** One setting, or one item of a list. */
export interface ListedSetting {
  readonly path: string
  /** as JSON; `***` for a secret; the default; `not set` when there is none */
  readonly value: string
  /** `in the settings file`, `in the environment variable …`, `default`; for what is not set, what applies instead, or `required` */
  readonly from: string
}

const withoutValue = ({ default: fallback, hasDefaultValue, path }: SettingRow): ListedSetting => {
  const text = plainText(fallback)
  if (hasDefaultValue) return { path, value: text, from: "default" }
  return { path, value: "not set", from: text.startsWith("required") ? text : `default: ${text}` }
}

/** Every setting that is given, and the default of every other one. Unknown names are problems and are not listed. */
export const listSettings = (flat: Flat): ReadonlyArray<ListedSetting> => {
  const shown = makeMask(flat)
  const given = (path: string, each: Given): ListedSetting => {
    const text = shown(each, path.replace(/\.\d+$/, ""))
    const value = text === undefined ? "***" : isEmptyList(each) ? "[]" : JSON.stringify(text)
    return { path, value, from: each.where }
  }
  const below = (path: string): ReadonlyArray<ListedSetting> => {
    const prefix = `${path.toLowerCase()}.`
    return [...flat].flatMap(([key, each]) =>
      key.startsWith(prefix) && isKnown(key) ? given(each.path.join("."), each) : [],
    )
  }
  return settingRows.flatMap((row): ReadonlyArray<ListedSetting> => {
    const { path } = row
    if (path.includes("{name}")) return below(path.slice(0, path.indexOf(".{name}")))
    // each item of a list of groups has its own
    if (path.includes("{n}")) {
      return [...flat].flatMap(([key, each]) =>
        settingAt(key.replace(/\.\d+$/, "")) === row ? given(each.path.join("."), each) : [],
      )
    }
    const single = flat.get(path.toLowerCase())
    if (single !== undefined) return [given(path, single)]
    const items = row.list ? below(path) : []
    return items.length > 0 ? items : [withoutValue(row)]
  })
}

/** One line a setting, in columns: path, value, origin. */
export const listingText = (settings: ReadonlyArray<ListedSetting>): string => {
  const width = (part: "path" | "value"): number => Math.min(60, Math.max(...settings.map((each) => each[part].length)))
  const [path, value] = [width("path"), width("value")]
  return settings.map((each) => `${each.path.padEnd(path)}  ${each.value.padEnd(value)}  ${each.from}`).join("\n")
}
