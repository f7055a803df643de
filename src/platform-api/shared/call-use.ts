/** What a vendor says of a call that is over, beside that it is. */
import type { CallUse } from "../adapter.ts"

/** Longer than any call (s): a vendor that says more than this says something else. */
const LONGEST_SECONDS = 7 * 24 * 3600
const LARGEST_DOLLARS = 10_000

const within = (value: number | null | undefined, most: number): number | undefined =>
  typeof value === "number" && value >= 0 && value <= most ? value : undefined

/** A field for the meaning of a webhook; absent where the vendor says nothing that can be used. */
export const usedOf = (
  seconds: number | null | undefined,
  dollars?: number | null | undefined,
): { readonly used?: CallUse } => {
  const [length, cost] = [within(seconds, LONGEST_SECONDS), within(dollars, LARGEST_DOLLARS)]
  if (length === undefined && cost === undefined) return {}
  return {
    used: {
      ...(length === undefined ? {} : { seconds: Math.ceil(length) }),
      ...(cost === undefined ? {} : { dollars: cost }),
    },
  }
}

/** The seconds between two times as a vendor writes them; undefined where one is absent or no time. */
export const secondsBetween = (from: string | null | undefined, to: string | null | undefined): number | undefined => {
  const millis = Date.parse(to ?? "") - Date.parse(from ?? "")
  return Number.isNaN(millis) ? undefined : millis / 1000
}
