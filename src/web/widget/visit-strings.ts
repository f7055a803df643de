/** The texts of a visit that are not in `widget.js`, in English. As with its others, `languages/*.json` has them in other languages. */
import type { Text } from "./fill.ts"

export const visitStrings = {
  "in-call.silent": "Nobody has spoken for a while. Say something to stay – the call ends in {time}.",
  "refused.field": "This value isn’t accepted.",
  "ended.silent": "The call ended because nobody spoke.",
} as const satisfies Readonly<Record<string, Text>>
