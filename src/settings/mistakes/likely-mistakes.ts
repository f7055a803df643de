/**
 * Values that are valid and yet probably not what the operator meant. Those that could let somebody in, or lock everybody out, are
 * problems; the others are warnings.
 */

import type { SettingProblem } from "../problems.ts"
import type { Reader } from "../reading/reader.ts"
import type { SettingsTree } from "../Settings.ts"
import { generalPath, isGateVariable, settingAt, settingRows } from "../showing/table.ts"
import { type Flat, type Given, isEmptyList } from "../sources/flat.ts"
import type { Variables } from "../sources/variables.ts"
import { isOfSamples } from "./placeholders.ts"

const isItem = (key: string): boolean => /\.\d+$/.test(key)
const settingOf = (key: string) => settingAt(key) ?? (isItem(key) ? settingAt(key.replace(/\.\d+$/, "")) : undefined)
const nameOf = ({ path }: Given): string => path.join(".")

const QUOTED = /^(["'`]).*\1$/s

/** Values with quotes round them, as `docker --env-file` and some shells leave them. JSON in a text has quotes of its own. */
const quoted = (flat: Flat): ReadonlyArray<SettingProblem> =>
  [...flat].flatMap(([key, given]) => {
    const setting = settingOf(key)
    if (setting === undefined || !QUOTED.test(given.text) || setting.expected.includes("JSON")) return []
    return {
      path: nameOf(given),
      expected: "the value without quotes round it",
      found: `a value in quotes, ${given.where}`,
    }
  })

/** Secrets of the gate's own doors: whoever knows one must not be able to use another. */
const DOORS = ["security.consoletoken", "security.webhookapitoken", "security.webhooksigningsecret", "identity.secrets"]
const KEYS = [...DOORS, "voiceaiplatform.apisecrettoken", "ipintel.apikey"]

/** One secret for two purposes. */
const shared = (flat: Flat): ReadonlyArray<SettingProblem> => {
  const first = new Map<string, { readonly setting: string; readonly given: Given }>()
  const problems: Array<SettingProblem> = []
  for (const [key, given] of flat) {
    const setting = generalPath(key).replace(/\.\d+$/, "")
    if (!KEYS.includes(setting) || isOfSamples(given.text)) continue
    const other = first.get(given.text)
    if (other === undefined) {
      first.set(given.text, { setting, given })
    } else if (other.setting !== setting) {
      const [at, from] = DOORS.includes(setting) ? [given, other.given] : [other.given, given]
      if (![setting, other.setting].some((each) => DOORS.includes(each))) continue
      problems.push({
        path: nameOf(at),
        expected: `a secret of its own: ${nameOf(from)} has the same, so whoever knows the one has the other`,
        found: `a value that is not shown, ${at.where}`,
      })
    }
  }
  return problems
}

/** Problems of values that are valid by themselves. */
export const likelyMistakes = (flat: Flat): ReadonlyArray<SettingProblem> => [...quoted(flat), ...shared(flat)]

/** The paths of secrets in a file's JSON that are an empty text. */
function* emptyIn(value: unknown, path: ReadonlyArray<string>): Generator<string> {
  if (typeof value === "string") {
    if (value.trim() === "" && settingOf(path.join(".").toLowerCase())?.secret === true) yield path.join(".")
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) yield* emptyIn(item, [...path, name])
  }
}

/** Empty secrets: whoever sets one, such as by a variable that is not set elsewhere, believes that there is a secret. */
const emptySecrets = (json: unknown, { origins, values }: Variables, file: string): ReadonlyArray<string> => [
  ...[...emptyIn(json, [])].map((path) => `${path}: empty ${file}, which counts as not set.`),
  ...Object.entries(values).flatMap(([name, text]) => {
    const path = name.replace(/__File$/i, "").split("__")
    if (text === undefined || text.trim() !== "" || !isGateVariable(path)) return []
    if (settingOf(path.join(".").toLowerCase())?.secret !== true) return []
    return `${path.join(".")}: empty ${origins.get(name) ?? `in the environment variable ${name}`}, which counts as not set.`
  }),
]

/** Items that a list has twice. */
const repeated = (flat: Flat): ReadonlyArray<string> => {
  const seen = new Map<string, string>()
  return [...flat].flatMap(([key, given]) => {
    if (!isItem(key) || settingOf(key)?.list !== true || isEmptyList(given)) return []
    const item = `${key.replace(/\.\d+$/, "")} ${given.text.toLowerCase()}`
    const other = seen.get(item)
    seen.set(item, nameOf(given))
    return other === undefined ? [] : `${nameOf(given)}: the same as ${other}, so it counts once.`
  })
}

const contradictoryLimits = ({ Security }: SettingsTree): ReadonlyArray<string> => {
  const { RateLimitDaily, RateLimitHourly, Shadow } = Security
  const isAbove = RateLimitDaily > 0 && RateLimitHourly > RateLimitDaily
  const inVain = (["RateLimitHourly", "RateLimitDaily", "RateLimitConcurrency"] as const).filter(
    (name) => Security[name] > 0 && Shadow[name] >= Security[name],
  )
  return [
    ...(isAbove
      ? [
          `Security.RateLimitHourly is ${RateLimitHourly}, above Security.RateLimitDaily, which is ${RateLimitDaily}: ` +
            "the daily limit alone decides.",
        ]
      : []),
    ...inVain.map(
      (name) =>
        `Security.Shadow.${name} is ${Shadow[name]}, not below Security.${name}, which is ${Security[name]}: it would refuse nobody else.`,
    ),
  ]
}

const LISTS = settingRows.flatMap(({ list, path }) => (list && path.startsWith("IpIntel.Lists.") ? path : []))

const unusedIntel = ({ has }: Reader, { IpIntel: { Provider } }: SettingsTree): ReadonlyArray<string> => {
  const isLocal = Provider === "lists" || Provider === "maxmind" || Provider === "none"
  const unused = [
    ...(isLocal ? ["IpIntel.ApiKey"] : []),
    ...(Provider === "lists" || Provider === "none" ? ["IpIntel.BaseUrl"] : []),
    ...(Provider === "lists" ? [] : LISTS),
  ].filter(has)
  return unused.length === 0 ? [] : [`${unused.join(", ")}: not used, because IpIntel.Provider is ${Provider}.`]
}

/** How much of all addresses a range may be before it is more than anybody's proxies: IPv4 /8, IPv6 /7 (all private ones). */
const isTooWide = (range: string): boolean => {
  const [address = "", bits] = range.split("/")
  return bits !== undefined && Number(bits) < (address.includes(":") ? 7 : 8)
}

const wideProxies = ({ Security: { TrustedProxies } }: SettingsTree): ReadonlyArray<string> => {
  const wide = TrustedProxies.filter(isTooWide)
  if (wide.some((range) => range.endsWith("/0"))) {
    return ["Security.TrustedProxies trusts every address: a caller can claim any address."]
  }
  return wide.map(
    (range) =>
      `Security.TrustedProxies trusts ${range}, more than any network has: a caller in it can claim any address.`,
  )
}

/** Warnings about valid settings. */
export const likelyMistakesIn = (
  read: Reader,
  tree: SettingsTree,
  given: { readonly flat: Flat; readonly json: unknown; readonly variables: Variables; readonly file: string },
): ReadonlyArray<string> => [
  ...emptySecrets(given.json, given.variables, given.file),
  ...repeated(given.flat),
  ...contradictoryLimits(tree),
  ...wideProxies(tree),
  ...unusedIntel(read, tree),
]
