/** Reports placeholders of the example file and of the samples in the documents that nobody has filled in. They would pass as values. */

import type { SettingProblem } from "../problems.ts"
import { plainText, settingAt } from "../showing/table.ts"
import type { Flat } from "../sources/flat.ts"

/** What the samples in the documents have in place of secrets and ids. */
const OF_SAMPLES: ReadonlyArray<string> = ["…", "whsec_…"]

export const isOfSamples = (text: string): boolean => OF_SAMPLES.includes(text)

/** A problem for every value that is still the example's, or a sample's. */
export const placeholders = (flat: Flat): ReadonlyArray<SettingProblem> =>
  [...flat].flatMap(([key, { path, text, where }]) => {
    const setting = settingAt(key) ?? settingAt(key.replace(/\.\d+$/, ""))
    if (setting === undefined || (setting.placeholder !== text && !isOfSamples(text))) return []
    return {
      path: path.join("."),
      expected: plainText(setting.description),
      found: `the placeholder ${JSON.stringify(text)} ${where}`,
    }
  })
