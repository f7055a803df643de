/**
 * The quick check of a session request. Nearly every body is valid and has printable ASCII only; the schema checks the same at five times
 * the cost and lists what is wrong. A body that is refused here may still be valid: the schema decides.
 */
import { MAX_VARIABLE_NAME, MAX_VARIABLE_VALUE, MAX_VARIABLES, type SessionRequest } from "../../protocol/Session.ts"

type Check = (value: unknown) => boolean

const PLAIN = /^[ -~]*$/
const PLAIN_LINES = /^[ -~\t\n\r]*$/
const SLASH = /[/\\]/

const isPlain = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length <= max && PLAIN.test(value)

const isAbsent = (value: unknown): value is null => value === null

const isOneOf = (...values: ReadonlyArray<unknown>): Check => {
  const all = new Set([...values, null])
  return (value) => all.has(value)
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Whether all fields are known and pass their checks. */
const passes = (value: unknown, checks: ReadonlyMap<string, Check>): boolean => {
  if (!isObject(value)) return false
  for (const name in value) if (checks.get(name)?.(value[name]) !== true) return false
  return true
}

const isId = (value: unknown): boolean => isAbsent(value) || isPlain(value, 256)

const areVariables: Check = (variables) => {
  if (isAbsent(variables)) return true
  if (!isObject(variables)) return false
  let count = 0
  for (const name in variables) {
    const value = variables[name]
    if (name === "" || name === "__proto__" || !isPlain(name, MAX_VARIABLE_NAME)) return false
    if (typeof value !== "string" || value.length > MAX_VARIABLE_VALUE || !PLAIN_LINES.test(value)) return false
    count++
  }
  return count <= MAX_VARIABLES
}

const isEncoding = isOneOf(1, 2, 3, 4, 5, 6, 7, 8)
const isBits = isOneOf(8, 16, 24, 32)
const isRate: Check = (value) =>
  isAbsent(value) || (typeof value === "number" && Number.isInteger(value) && value >= 8_000 && value <= 96_000)

const audioFields: ReadonlyMap<string, Check> = new Map([
  ["inputEncodingType", isEncoding],
  ["inputSampleRate", isRate],
  ["inputBitsPerSample", isBits],
  ["outputEncodingType", isEncoding],
  ["outputSampleRate", isRate],
  ["outputBitsPerSample", isBits],
])

const isAudio: Check = (audio) => isAbsent(audio) || passes(audio, audioFields)

const fields: ReadonlyMap<string, Check> = new Map<keyof SessionRequest, Check>([
  ["campaignId", isId],
  ["regionId", isId],
  ["transportType", isOneOf(0, 1)],
  ["clientIdentifier", (value) => isAbsent(value) || (value !== "" && isPlain(value, 256) && !SLASH.test(value))],
  ["dynamicVariables", areVariables],
  ["metadata", areVariables],
  ["audioConfiguration", isAudio],
  ["uniqueRequestId", (value) => isAbsent(value) || isPlain(value, 64)],
])

/** Whether a body is a valid request without fields that the schema would leave out. */
export const isPlainRequest = (body: unknown): body is SessionRequest => passes(body, fields)
