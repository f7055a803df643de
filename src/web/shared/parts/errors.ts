/**
 * The errors of a form: shown when it is submitted, and gone as soon as the field is right. They do not come back before the next submit.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks"

export interface Errors<E extends object> {
  /** the errors of the last submit; another object for each, for `Form` */
  readonly reported: object
  /** the error that is shown at a field */
  readonly of: <Name extends keyof E>(name: Name) => E[Name] | undefined
  /** Shows what is wrong now, and returns whether nothing is. */
  readonly check: () => boolean
}

const NONE = {}

/** @param current what is wrong with the present input: an error for each wrong field, nothing for the others */
export const useErrors = <E extends object>(current: E): Errors<E> => {
  const [reported, setReported] = useState<object>(NONE)
  const corrected = useRef(new Set<PropertyKey>())
  useLayoutEffect(() => {
    for (const name of Object.keys(reported)) if (!(name in current)) corrected.current.add(name)
  })
  return {
    reported,
    of: (name) => (name in reported && !corrected.current.has(name) ? current[name] : undefined),
    check: () => {
      corrected.current = new Set()
      setReported({ ...current })
      return Object.keys(current).length === 0
    },
  }
}
