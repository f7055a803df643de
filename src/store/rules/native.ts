/**
 * What rules need from the language they run in. This file serves the memory store. `src/store/rules/redis/native.ts` has the same
 * functions for Redis's Lua, where numbers are written with `%.0f` and JSON is `cjson`.
 */
import { createHash } from "node:crypto"

/** Below and above every score. */
export const LOWEST: number = Number.NEGATIVE_INFINITY
export const HIGHEST: number = Number.POSITIVE_INFINITY
/** No bound on a count. */
export const ALL: number = Number.POSITIVE_INFINITY

/** 0 when it is missing or not a finite number. */
export const numberOf = (stored: string | undefined): number => {
  const value = Number(stored ?? "0")
  return Number.isFinite(value) ? value : 0
}

/** A whole number in its stored form. */
export const textOf = (value: number): string => String(value)

/** A counter as 16 digits, so that texts sort like numbers. */
export const padded = (value: number): string => String(value).padStart(16, "0")

/** The parts of a text that spaces separate. */
export const wordsOf = (text: string): ReadonlyArray<string> => text.split(" ").filter((word) => word !== "")

/** The first characters of a text (bytes on Redis). */
export const beginning = (text: string, length: number): string => text.slice(0, length)

/** A text without its first characters (bytes on Redis). */
export const withoutBeginning = (text: string, length: number): string => text.slice(length)

export const beginsWith = (text: string, start: string): boolean => text.startsWith(start)

export const contains = (text: string, part: string): boolean => text.includes(part)

export const encode = (value: object): string => JSON.stringify(value)

const isNonFinite = (value: unknown): boolean => typeof value === "number" && !Number.isFinite(value)

/** Undefined when it is invalid or has a field too large to be encoded again. */
export const decode = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && Object.values(value).some(isNonFinite) ? undefined : value
  } catch {
    return undefined
  }
}

export const isText = (value: unknown): value is string => typeof value === "string"

/** Whether a decoded value is a number that JSON can write. */
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)

/** Whether a decoded value is an object; narrows it to fields of unknown types. */
export const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The texts in a decoded list; none when it is not a list. */
export const textsIn = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.filter(isText) : [])

export const namesIn = (value: object): ReadonlyArray<string> => Object.keys(value)

/** Only finite numbers; none when the value is not an object. */
export const numbersByName = (value: unknown): { readonly [name: string]: number } =>
  isObject(value)
    ? Object.fromEntries(Object.entries(value).filter((field): field is [string, number] => isNumber(field[1])))
    : {}

/** In hexadecimal. */
export const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex")

export const sortNumbers = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => numbers.toSorted((a, b) => a - b)
