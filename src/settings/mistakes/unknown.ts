/**
 * Reports unknown names: a misspelt limit that is silently ignored is worse than one that stops the start. The value is never
 * shown, since it may be a secret.
 */
import { Redacted } from "effect"
import { closestMatch } from "leven"
import { ENDED_VENDORS } from "../../platform-api/vendors.ts"
import type { SettingProblem } from "../problems.ts"
import { generalPath, isGateVariable, isKnown, settingAt, settingRows } from "../showing/table.ts"
import { type Flat, type Given, MAX_LEVELS } from "../sources/flat.ts"

/** Canonical paths by their lower-case form. */
const known = new Map(
  settingRows.flatMap(({ path }) => (/\{n(ame)?\}/.test(path) ? [] : [[path.toLowerCase(), path] as const])),
)
const paths = [...known.keys()]
const leafOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)
const leaves = paths.map(leafOf)

/** Names of the same settings in other programs, such as the .NET reference: lower case, to the path here. */
const ELSEWHERE = new Map([
  ["redisconnectionstring", "StoreConnectionString"],
  ["connectionstrings.redis", "StoreConnectionString"],
  ["knownproxies", "Security.TrustedProxies"],
  ["knownnetworks", "Security.TrustedProxies"],
])

/** Blocks of .NET's own host in a settings file of the reference: lower case, to what does the same here. */
const DOTNET_BLOCKS = new Map([
  ["logging", "remove it: the log goes to standard output, and has no levels to set"],
  ["serilog", "remove it: the log goes to standard output, and has no levels to set"],
  ["kestrel", "set Server.Host and Server.Port instead; TLS ends at the reverse proxy"],
  ["urls", "set Server.Host and Server.Port instead"],
  ["allowedhosts", "set Server.AllowedHosts instead"],
])
const fromElsewhere = (key: string): string | undefined => ELSEWHERE.get(key) ?? ELSEWHERE.get(leafOf(key))

/** The setting that was probably meant: the same name in another group, else a similar name. */
const suggestion = (key: string): string | undefined => {
  const near = leaves.includes(leafOf(key)) ? leafOf(key) : closestMatch(leafOf(key), leaves, { maxDistance: 2 })
  const meant = closestMatch(key, paths, { maxDistance: 3 }) ?? paths.find((path) => leafOf(path) === near)
  return fromElsewhere(key) ?? (meant === undefined ? undefined : known.get(meant))
}

const problemOf = (key: string, { path, text, where }: Given): SettingProblem | undefined => {
  const setting = generalPath(key)
  const item = setting.replace(/\.\d+$/, "")
  if (isKnown(key) || key === "$schema") return undefined
  const problem = (expected: string) => ({
    path: path.join("."),
    expected,
    found: `${text === "" ? "no value" : "a value that is not shown"}, ${where}`,
  })

  if (settingAt(item) !== undefined) return problem("one value instead of a list")
  if (settingRows.some((row) => row.path.toLowerCase().startsWith(`${setting}.`))) {
    return problem("a group of settings instead of a value")
  }
  const ended = setting.split(".").find((part) => ENDED_VENDORS.has(part))
  if (ended !== undefined) return problem(ENDED_VENDORS.get(ended) ?? "")
  const near = suggestion(item)
  // in a named campaign suggest the path within that campaign
  const meant = setting === key ? near : near?.replace(/^VoiceAiPlatform(?=\.)/, path.slice(0, 3).join("."))
  return problem(`a known setting${meant === undefined ? "" : `; did you mean ${meant}?`}`)
}

/**
 * A problem for every environment variable outside the gate's groups whose name is within two letters of a setting's, such as
 * `Securty__RateLimitHourly`. Other variables are ignored.
 */
export const misspeltVariables = (env: Readonly<Record<string, string | undefined>>): ReadonlyArray<SettingProblem> =>
  Object.entries(env).flatMap(([name, value]) => {
    const path = name.split("__")
    const key = path.join(".").toLowerCase()
    if (!value?.trim() || isGateVariable(path)) return []
    const meant = closestMatch(key.replace(/\.\d+$/, ""), paths, { maxDistance: 2 })
    if (meant === undefined) return []
    return {
      path: path.join("."),
      expected: `a known setting; did you mean ${known.get(meant)}?`,
      found: `a value that is not shown, in the environment variable ${name}`,
    }
  })

/** One problem for each block of .NET's host, whatever is in it. */
const dotnetBlocks = (flat: Flat): ReadonlyArray<SettingProblem> => {
  const found = new Map([...flat.values()].map(({ path, where }) => [path[0] ?? "", where]))
  return [...found].flatMap(([name, where]) => {
    const instead = DOTNET_BLOCKS.get(name.toLowerCase())
    return instead === undefined
      ? []
      : { path: name, expected: `no setting of .NET's host; ${instead}`, found: `it ${where}` }
  })
}

/** Whether settings can be below a path, such as `Security` or `VoiceAiPlatform.Campaigns.sales`. */
const isGroup = (key: string): boolean => {
  const prefix = generalPath(`${key}.`)
  return settingRows.some(({ path }) => path.toLowerCase().startsWith(prefix))
}

/** The names of the file's JSON that have no value: null, or an empty text, list or group. They are not in the flat list. */
function* namesWithoutValue(value: unknown, path: ReadonlyArray<string>): Generator<ReadonlyArray<string>> {
  // more levels are a problem of their own
  if (path.length > MAX_LEVELS) return
  if (value === null || (typeof value === "string" && value.trim() === "")) yield path
  else if (typeof value === "object" && !Redacted.isRedacted(value)) {
    const entries = Object.entries(value)
    if (entries.length === 0) yield path
    for (const [name, item] of entries) yield* namesWithoutValue(item, [...path, name])
  }
}

/**
 * A problem for every unknown name, also for one without a value.
 *
 * @param where where the JSON is from, for messages
 */
export const unknownNames = (flat: Flat, json: unknown, where: string): ReadonlyArray<SettingProblem> => {
  const all = new Map(flat)
  for (const path of namesWithoutValue(json, [])) {
    const key = path.join(".").toLowerCase()
    if (key !== "" && !isGroup(key) && !all.has(key)) all.set(key, { path, text: "", where })
  }
  return [
    ...[...all].flatMap(([key, given]) =>
      DOTNET_BLOCKS.has(key.split(".")[0] ?? "") ? [] : (problemOf(key, given) ?? []),
    ),
    ...dotnetBlocks(all),
  ]
}
