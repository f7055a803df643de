/** JSON for the store. */

const wellFormed = (_: string, value: unknown): unknown => (typeof value === "string" ? value.toWellFormed() : value)

/** JSON that Redis's parser reads too: it rejects a lone surrogate, which becomes U+FFFD here, as in UTF-8. */
export const jsonOf = (value: object): string => {
  const text = JSON.stringify(value)
  return text.includes("\\ud") ? JSON.stringify(value, wellFormed) : text
}
