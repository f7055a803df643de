/** Finds unknown fields, such as misspelt ones, which would otherwise be ignored silently. */
import { closestMatch } from "leven"

/** Longer names are truncated in messages. */
const MAX_NAME = 64

/** An unknown field, with a message that suggests the closest known one. */
export interface UnknownField {
  readonly field: string
  readonly message: string
}

/** Undefined fields count as absent. */
export const unknownFields = (given: object, known: ReadonlyArray<string>): ReadonlyArray<UnknownField> =>
  Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || known.includes(name)) return []
    const lower = name.slice(0, MAX_NAME).toLowerCase()
    const near = closestMatch(
      lower,
      known.map((each) => each.toLowerCase()),
      { maxDistance: 3 },
    )
    const meant = known.find((each) => each.toLowerCase() === near)
    const field = name.slice(0, MAX_NAME).replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd")
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`
    return [{ field, message: `Expected one of ${known.join(", ")}${hint}` }]
  })
