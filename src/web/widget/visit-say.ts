/** Finds the texts of a visit that are not in `widget.js`. */
import { fill } from "./fill.ts"
import type { Say } from "./strings.ts"
import { visitStrings } from "./visit-strings.ts"

const isKnown = (key: string | undefined): key is keyof typeof visitStrings =>
  key !== undefined && Object.hasOwn(visitStrings, key)

/** The tools of the screens, which then also find these texts. */
export const withVisitStrings = <T extends { readonly say: Say }>(tools: T): T => {
  const say: Say = (keys, values = {}) => {
    const [first] = [keys].flat()
    return isKnown(first)
      ? tools.say(first, values) || fill(visitStrings[first], "en", values)
      : tools.say(keys, values)
  }
  return { ...tools, say }
}
