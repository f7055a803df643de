/** Reports placeholders of the example file that nobody has filled in. They would pass as values. */

import type { SettingProblem } from "../problems.ts"
import { plainText, settingAt } from "../showing/table.ts"
import type { Flat } from "../sources/flat.ts"

/** A problem for every value that is still the example's. */
export const placeholders = (flat: Flat): ReadonlyArray<SettingProblem> =>
  [...flat].flatMap(([key, { path, text, where }]) => {
    const setting = settingAt(key)
    if (setting?.placeholder !== text) return []
    return {
      path: path.join("."),
      expected: plainText(setting.description),
      found: `the placeholder ${JSON.stringify(text)} ${where}`,
    }
  })
