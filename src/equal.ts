/** The comparison of secrets. */
import { createHash, timingSafeEqual } from "node:crypto"

/** Compares in constant time: neither the position of a difference nor the lengths affect it. */
export const equal = (a: string, b: string): boolean =>
  timingSafeEqual(createHash("sha256").update(a).digest(), createHash("sha256").update(b).digest())
