/**
 * What rules need of the language they run in. This file is for the memory store; `redis/native.ts` has the same functions for the
 * Lua of Redis, where a number is written with `%.0f` and JSON is `cjson`.
 */
import { createHash } from "node:crypto"

/** Below and above every score. */
export const LOWEST: number = Number.NEGATIVE_INFINITY
export const HIGHEST: number = Number.POSITIVE_INFINITY
/** As many as there are. */
export const ALL: number = Number.POSITIVE_INFINITY

/** A stored number; 0 where there is none, or no finite number. */
export const numberOf = (stored: string | undefined): number => {
  const value = Number(stored ?? "0")
  return Number.isFinite(value) ? value : 0
}

/** A whole number as it is stored. */
export const textOf = (value: number): string => String(value)

/** A counter as text of 16 digits, so that texts are in the order of their numbers. */
export const padded = (value: number): string => String(value).padStart(16, "0")

/** The parts of a text between blanks. */
export const wordsOf = (text: string): ReadonlyArray<string> => text.split(" ").filter((word) => word !== "")

/** The first characters of a text (bytes on Redis). */
export const beginning = (text: string, length: number): string => text.slice(0, length)

export const beginsWith = (text: string, start: string): boolean => text.startsWith(start)

export const encode = (value: object): string => JSON.stringify(value)

const isNoNumber = (value: unknown): boolean => typeof value === "number" && !Number.isFinite(value)

/** What a JSON text says; undefined where it is no JSON, or has a field that is too large to be written again. */
export const decode = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && Object.values(value).some(isNoNumber) ? undefined : value
  } catch {
    return undefined
  }
}

export const isText = (value: unknown): value is string => typeof value === "string"

/** Whether a decoded value is a number that JSON can write. */
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)

/** Whether a decoded value is an object, and gives it with fields of unknown types. */
export const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The texts of a decoded list; nothing where it is no list. */
export const textsIn = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.filter(isText) : [])

/** The finite numbers of a decoded list; nothing where it is no list. */
export const numbersIn = (value: unknown): ReadonlyArray<number> => (Array.isArray(value) ? value.filter(isNumber) : [])

/** The SHA-1 of a text, in hexadecimal digits. */
export const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex")

export const sortNumbers = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => numbers.toSorted((a, b) => a - b)
