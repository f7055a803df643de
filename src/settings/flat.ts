/**
 * The file and the environment as one flat list of texts, as in .NET's configuration: names are case-insensitive, `__` separates
 * levels in the environment, list items are given by index, and the environment overrides the file item by item.
 *
 * A `ConfigProvider` answers one path at a time, in exact case, and does not tell where a value is from, which messages and the
 * check for misspelt variables need. The `platform` commands, which need neither, read their variables through `Config`.
 */
import { Redacted } from "effect"
import type { SettingProblem } from "./problems.ts"
import { isGateVariable, settingAt } from "./table.ts"
import type { Variables } from "./variables.ts"

/** One value as given. */
export interface Given {
  /** the names of the levels, as given */
  readonly path: ReadonlyArray<string>
  readonly text: string
  /** for messages: `in the settings file`, `in the environment variable …` or `in the file of …` */
  readonly where: string
}

/** Keyed by the path in lower case, levels joined by dots. */
export type Flat = ReadonlyMap<string, Given>

const keyOf = (path: ReadonlyArray<string>): string => path.join(".").toLowerCase()

const collect = (given: Iterable<Given>, problems: Array<SettingProblem>): Map<string, Given> => {
  const flat = new Map<string, Given>()
  for (const each of given) {
    const key = keyOf(each.path)
    const other = flat.get(key)
    if (other !== undefined) {
      problems.push({
        path: each.path.join("."),
        expected: "one value (names differ by case only)",
        found: `two: ${other.where} and ${each.where}`,
      })
    }
    flat.set(key, each)
  }
  return flat
}

function* leaves(value: unknown, path: ReadonlyArray<string>): Generator<Given> {
  if (value === null || value === undefined) return
  if (Redacted.isRedacted(value)) {
    yield* leaves(Redacted.value(value), path)
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leaves(item, [...path, String(index)])
  } else if (typeof value === "object") {
    for (const [name, item] of Object.entries(value)) yield* leaves(item, [...path, name])
  } else {
    const text = String(value).trim()
    if (text !== "") yield { path, text, where: "in the settings file" }
  }
}

function* variables({ origins, values }: Variables): Generator<Given> {
  for (const [name, value] of Object.entries(values)) {
    const path = name.split("__")
    const text = value?.trim() ?? ""
    // shells and compose files set an empty variable for "not set"
    if (text !== "" && isGateVariable(path) && !isBareGroup(path)) {
      yield { path, text, where: origins.get(name) ?? `in the environment variable ${name}` }
    }
  }
}

/** A variable such as `SERVER` or `QUEUE` without levels belongs to another program. */
const isBareGroup = (path: ReadonlyArray<string>): boolean =>
  path.length === 1 && settingAt(path.join(".")) === undefined

const parentOf = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf(".")))
const isItem = (key: string): boolean => /\.\d+$/.test(key)

/**
 * Merges the environment over a file's JSON. A list given as one text and the same list given by index replace each other. Adds a
 * problem for each name that occurs twice.
 */
export const flatten = (json: unknown, env: Variables, problems: Array<SettingProblem>): Flat => {
  const flat = collect(leaves(json, []), problems)
  const fromEnv = collect(variables(env), problems)
  for (const key of flat.keys()) {
    const replacedByText = isItem(key) && fromEnv.has(parentOf(key))
    const replacedByItems =
      !isItem(key) && [...fromEnv.keys()].some((other) => isItem(other) && parentOf(other) === key)
    if (replacedByText || replacedByItems) flat.delete(key)
  }
  for (const [key, given] of fromEnv) flat.set(key, { ...given, path: flat.get(key)?.path ?? given.path })
  return flat
}
