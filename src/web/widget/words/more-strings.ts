/** Finds the texts of a part that is loaded later, which are in English in that part. */

import { fill, type Text } from "./fill.ts"
import type { Say } from "./strings.ts"

/** The tools of the screens, which then also find these texts, where neither the page nor its language has them. */
export const withStrings = <T extends { readonly say: Say }>(tools: T, strings: Readonly<Record<string, Text>>): T => {
  const say: Say = (keys, values = {}) => {
    const said = tools.say(keys, values)
    const [text] = [keys].flat().flatMap((key) => (Object.hasOwn(strings, key) ? (strings[key] ?? []) : []))
    return said === "" && text !== undefined ? fill(text, "en", values) : said
  }
  return { ...tools, say }
}
