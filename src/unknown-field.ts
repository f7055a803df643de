/** Fields that nobody asked for: one that is misspelt and silently ignored does something else than was meant. */
import { closestMatch } from "leven"

/** The longest field name that is repeated. */
const MAX_NAME = 64

/** One field that is not known, and what is wrong with it, in words with the field that was probably meant. */
export interface UnknownField {
  readonly field: string
  readonly message: string
}

/** The fields of `given` that are not among `known`. A field that is undefined is not there. */
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
