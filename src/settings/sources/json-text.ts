/** Parses the JSON of a settings file. No message repeats any text of the file, which may be a secret. */
import { Result } from "effect"
import stripJsonComments from "strip-json-comments"
import type { SettingProblem } from "../problems.ts"
import { MAX_LEVELS } from "./flat.ts"

/** What a file that is not JSON probably is; undefined when it may be JSON with a mistake. */
const otherFormat = (text: string): string | undefined => {
  const lines = text.split("\n").map((line) => line.trim())
  const first = lines.find((line) => line !== "" && !/^(?:#|;|\/\/|---$)/.test(line)) ?? ""
  if (/^(?:export\s+)?[A-Za-z_]\w*\s*=/.test(first)) {
    return "it looks like a file of environment variables, which --env-file reads"
  }
  if (/^\[[\w.]+\]$/.test(first)) return "it looks like TOML or INI"
  return lines.includes("---") || /^[\w."'-]+\s*:(?:\s|$)/.test(first) ? "it looks like YAML" : undefined
}

const reasonOf = (text: string, error: unknown): string => {
  const other = otherFormat(text)
  if (other !== undefined) return `; ${other}`
  const place = /line \d+ column \d+/.exec(String(error))?.[0]
  return place === undefined ? "" : `; the error is at ${place}`
}

/** The failure is what was expected. Comments and trailing commas are allowed, as in .NET's files. */
export const parseSettingsText = (text: string): Result.Result<object, string> => {
  // the positions of errors stay as they are
  const json = stripJsonComments(text, { trailingCommas: true })
  if (json.trim() === "") return Result.fail("an object of settings, in braces; the file is empty")
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? Result.succeed(value)
      : Result.fail("an object of settings, in braces")
  } catch (error) {
    return Result.fail(`valid JSON${reasonOf(text, error)}`)
  }
}

/** An object or a list that is being read. */
interface Level {
  readonly path: ReadonlyArray<string>
  /** the lines of an object's names; undefined in a list */
  readonly names: Map<string, number> | undefined
  /** the name or the index of the current value */
  at: string
}

/**
 * The names that an object of valid JSON has twice: `JSON.parse` keeps the last one only, in silence.
 *
 * @param text valid JSON, with comments
 */
export const repeatedNames = (text: string): ReadonlyArray<SettingProblem> => {
  const json = stripJsonComments(text, { trailingCommas: true })
  const problems: Array<SettingProblem> = []
  const levels: Array<Level> = []
  let line = 1
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[[\]{},\n]/g)) {
    const level = levels.at(-1)
    if (token === "{" || token === "[") {
      const path = level === undefined ? [] : [...level.path, level.at]
      // `flatten` refuses it
      if (levels.length > MAX_LEVELS) return problems
      levels.push({ path, names: token === "{" ? new Map() : undefined, at: "0" })
    } else if (token === "}" || token === "]") {
      levels.pop()
    } else if (token === ",") {
      if (level?.names === undefined && level !== undefined) level.at = String(Number(level.at) + 1)
    } else if (token.endsWith(":") && level?.names !== undefined) {
      const name: string = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1))
      const other = level.names.get(name)
      if (other !== undefined) {
        problems.push({
          path: [...level.path, name].join("."),
          expected: "the name once: of two, JSON keeps the last one only",
          found: `it in lines ${other} and ${line} of the settings file`,
        })
      }
      level.names.set(name, line)
      level.at = name
    }
    line += token.split("\n").length - 1
  }
  return problems
}
