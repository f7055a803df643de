/** What rules need from the language they run in, for Redis's Lua. `../native.ts` documents each function. */

export const LOWEST: number = -math.huge
export const HIGHEST: number = math.huge
export const ALL: number = math.huge

export const numberOf = (stored: string | undefined): number => {
  const value = tonumber(stored ?? "0")
  return value !== undefined && value > -math.huge && value < math.huge ? value : 0
}

export const textOf = (value: number): string => string.format("%.0f", value)

export const padded = (value: number): string => string.format("%016.0f", value)

export const wordsOf = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (const word of string.gmatch(text, "[^ ]+")) words.push(word)
  return words
}

export const beginning = (text: string, length: number): string => string.sub(text, 1, length)

export const withoutBeginning = (text: string, length: number): string => string.sub(text, length + 1)

export const beginsWith = (text: string, start: string): boolean => string.sub(text, 1, start.length) === start

export const contains = (text: string, part: string): boolean => {
  const [found] = string.find(text, part, 1, true)
  return found !== undefined
}

export const encode = (value: object): string => cjson.encode(value)

/** `cjson` parses `NaN` and `Infinity`, which are not JSON, and cannot encode them again. */
const isFiniteOrText = (value: unknown): boolean =>
  type(value) !== "number" || ((value as number) > -math.huge && (value as number) < math.huge)

export const decode = (text: string): unknown => {
  const [ok, value] = pcall(cjson.decode, text)
  if (!ok || type(value) !== "table") return ok ? value : undefined
  for (const [, each] of pairs(value as object)) if (!isFiniteOrText(each)) return undefined
  return value
}

export const isText = (value: unknown): value is string => type(value) === "string"

export const isNumber = (value: unknown): value is number => type(value) === "number" && isFiniteOrText(value)

export const isObject = (value: unknown): value is { readonly [field: string]: unknown } => type(value) === "table"

export const textsIn = (value: unknown): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (type(value) !== "table") return found
  for (const [, each] of ipairs(value as ReadonlyArray<unknown>)) if (isText(each)) found.push(each)
  return found
}

export const namesIn = (value: object): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const [name] of pairs(value)) if (isText(name)) names.push(name)
  return names
}

export const numbersByName = (value: unknown): { readonly [name: string]: number } => {
  const found: { [name: string]: number } = {}
  if (type(value) !== "table") return found
  for (const [name, each] of pairs(value as object)) if (isText(name) && isNumber(each)) found[name] = each
  return found
}

export const sha1 = (text: string): string => redis.sha1hex(text)

export const sortNumbers = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => {
  table.sort(numbers)
  return numbers
}
