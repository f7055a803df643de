/** The comparison of secrets. */
import { createHash, timingSafeEqual } from "node:crypto"

/** Compares in constant time: neither the position of a difference nor the lengths affect it. */
export const equal = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest())

/** Whether any of them matches. Compares with all of them, so that the time does not show which one matched. */
export const equalsAny = (given: string, accepted: ReadonlyArray<string>): boolean =>
  accepted.reduce((found, each) => equal(given, each) || found, false)
