/** Finds the texts of `extras.js`. */

import { fill } from "../words/fill.ts"
import type { Say } from "../words/strings.ts"
import { extraStrings } from "./extra-strings.ts"

const isKnown = (key: string): key is keyof typeof extraStrings => Object.hasOwn(extraStrings, key)

/** The tools of the screens, which then also find the texts of `extras.js`. */
export const withExtraStrings = <T extends { readonly say: Say }>(tools: T): T => {
  const say: Say = (keys, values = {}) => {
    const said = tools.say(keys, values)
    const [key] = [keys].flat().filter(isKnown)
    return said === "" && key !== undefined ? fill(extraStrings[key], "en", values) : said
  }
  return { ...tools, say }
}
