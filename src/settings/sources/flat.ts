/**
 * The file and the environment as one flat list of texts, as in .NET's configuration: names are case-insensitive, `__` separates
 * levels in the environment, list items are given by index, and the environment overrides the file. Unlike in .NET, a list in the
 * environment replaces the whole list of the file: otherwise an origin that the environment does not name would stay allowed.
 *
 * A `ConfigProvider` answers one path at a time, in exact case, and does not tell where a value is from, which messages and the
 * check for misspelt variables need. The `platform` commands, which need neither, read their variables through `Config`.
 */
import { Redacted } from "effect"
import type { SettingProblem } from "../problems.ts"
import { isGateVariable, settingAt } from "../showing/table.ts"
import type { Variables } from "./variables.ts"

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

const isGroup = (value: unknown): boolean => typeof value === "object" && value !== null && !Redacted.isRedacted(value)

/** Reports groups whose names differ only by case: both would count, merged into one group that no source contains. */
const checkNames = (group: object, path: ReadonlyArray<string>, problems: Array<SettingProblem>): void => {
  const seen = new Map<string, string>()
  for (const [name, value] of Object.entries(group)) {
    if (!isGroup(value)) continue
    const other = seen.get(name.toLowerCase())
    if (other !== undefined) {
      problems.push({
        path: [...path, name].join("."),
        expected: "one group (names differ by case only)",
        found: `two: ${other} and ${name}`,
      })
    }
    seen.set(name.toLowerCase(), name)
  }
}

/** The most levels of settings; no setting has half as many. */
export const MAX_LEVELS = 16

function* leaves(
  value: unknown,
  path: ReadonlyArray<string>,
  where: string,
  problems: Array<SettingProblem>,
): Generator<Given> {
  if (value === null || value === undefined) return
  if (path.length > MAX_LEVELS) {
    problems.push({
      path: path.slice(0, 3).join("."),
      expected: `at most ${MAX_LEVELS} levels`,
      found: `more, ${where}`,
    })
    return
  }
  if (Redacted.isRedacted(value)) {
    yield* leaves(Redacted.value(value), path, where, problems)
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leaves(item, [...path, String(index)], where, problems)
  } else if (typeof value === "object") {
    checkNames(value, path, problems)
    for (const [name, item] of Object.entries(value)) yield* leaves(item, [...path, name], where, problems)
  } else if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    problems.push({
      path: path.join("."),
      expected:
        "a smaller number, or a text in quotes if it is an id: JSON does not keep a number of this size exactly",
      found: `a number, ${where}`,
    })
  } else {
    const text = String(value).trim()
    if (text !== "") yield { path, text, where }
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

const isList = (key: string): boolean => settingAt(key)?.list === true

/** The list to which a value belongs, in lower case; undefined for other values. */
const listOf = (key: string): string | undefined =>
  isList(key) ? key : isItem(key) && isList(parentOf(key)) ? parentOf(key) : undefined

/** Whether a value stands for an empty list: `[]`, which an environment variable needs to empty a list of the file. */
export const isEmptyList = ({ path, text }: Given): boolean => /^\[\s*\]$/.test(text) && isList(keyOf(path))

/**
 * Merges the environment over a file's JSON. A list in the environment, as items or as one text, replaces the file's whole list, and `[]`
 * empties it. Adds a problem for each name that occurs twice.
 *
 * @param file where the JSON is from, for messages
 * @param notes receives a line for each list of the file that the environment replaces
 */
export const flatten = (
  json: unknown,
  env: Variables,
  problems: Array<SettingProblem>,
  file = "in the settings file",
  notes: Array<string> = [],
): Flat => {
  const flat = collect(leaves(json, [], file, problems), problems)
  const fromEnv = collect(variables(env), problems)
  const replacing = new Map<string, Given>()
  for (const [key, given] of fromEnv) {
    const list = listOf(key)
    if (list !== undefined && !replacing.has(list)) replacing.set(list, given)
  }
  const replaced = new Map<string, number>()
  for (const [key, { path }] of [...flat]) {
    const list = listOf(key)
    const by = list === undefined ? undefined : replacing.get(list)
    if (by === undefined) continue
    flat.delete(key)
    const name = (key === list ? path : path.slice(0, -1)).join(".")
    replaced.set(name, (replaced.get(name) ?? 0) + 1)
  }
  for (const [name, count] of replaced) {
    const where = replacing.get(name.toLowerCase())?.where ?? ""
    notes.push(
      `${name}: the list ${where} replaces the whole list ${file}, which has ${count} item${count === 1 ? "" : "s"}.`,
    )
  }
  for (const [key, given] of fromEnv) flat.set(key, { ...given, path: flat.get(key)?.path ?? given.path })
  return flat
}
