/**
 * The contract of the rate limiter on every store, with time under the test's control. Each test has its own callers.
 */
import type { Layer } from "effect"
import type { Store } from "../../src/store/Store.ts"
import { figures } from "./limiter/figures.ts"
import { giveBack } from "./limiter/give-back.ts"
import { limiterTest } from "./limiter/harness.ts"
import { histories } from "./limiter/histories.ts"
import { windows } from "./limiter/windows.ts"

export const limiterContract = (store: Layer.Layer<Store>): void => {
  const test = limiterTest(store)
  windows(test, store)
  giveBack(test)
  figures(test)
  histories(test)
}
