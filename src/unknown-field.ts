/** Reports unknown fields: a misspelt field that is silently ignored would do something else than the caller meant. */
import { closestMatch } from "leven"

/** A field name is cut to this length in a message. */
const MAX_NAME = 64

/** One unknown field, and a message that suggests the field that was probably meant. */
export interface UnknownField {
  readonly field: string
  readonly message: string
}

/** The fields of `given` that are not in `known`. A field that is undefined counts as absent. */
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
