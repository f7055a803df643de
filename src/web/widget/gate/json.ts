/** Reads untrusted JSON: unexpected values are treated as absent, and nothing throws. */

export type Fields = Readonly<Record<string, unknown>>

/** Parses an object; empty if the text is not one. */
export const parse = (text: string): Fields => {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return {}
  }
}

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {}

export const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

export const number = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
