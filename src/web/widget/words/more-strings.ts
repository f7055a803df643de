/** Finds the texts of a part that is loaded later, which are in English in that part. None of them depends on a number. */

import { fillIn } from "./fill.ts"
import type { Say } from "./strings.ts"

/** The tools of the screens, which then also find these texts, where neither the page nor its language has them. */
export const withStrings = <T extends { readonly say: Say }>(
  tools: T,
  strings: Readonly<Record<string, string>>,
): T => {
  const english: Say = (keys, values = {}) => {
    const key = [keys].flat().find((each) => each in strings) ?? ""
    return fillIn(strings[key] ?? "", "en", values)
  }
  return { ...tools, say: (keys, values) => tools.say(keys, values) || english(keys, values) }
}
