/** What is known of an address, forgotten: in the store, and in the memory of every gate on it. */
import { Effect, Schema } from "effect"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { IP_PROVIDERS, isHttpProvider } from "./provider-kinds.ts"
import { forgetValue } from "./rules/forget.ts"

const rule = ruleOf("ip.forget", runPlain(forgetValue), Schema.Finite)

/** On this channel the names of addresses are told whose facts are forgotten. */
export const FORGOTTEN_CHANNEL = "vg:ip:forgotten"

/** Where the facts of an address are in the store; `name` is that of its `factsKey` (`lib/ip/address.ts`). */
export const factsStoreKey = (provider: string, name: string): string => `vg:ip:${provider}:${name}`

/** Of all providers, since the settings may have named another one before. Returns how many values there were. */
export const forgetFacts = Effect.fnUntraced(function* (
  store: Store["Service"],
  names: ReadonlyArray<string>,
  remove: boolean,
): Effect.fn.Return<number, StoreUnavailable> {
  let found = 0
  for (const name of names) {
    for (const provider of IP_PROVIDERS.filter(isHttpProvider)) {
      const now = yield* store.now
      const keys = [factsStoreKey(provider, name)]
      found += yield* store.run(rule, { keys, now, context: NO_CONTEXT, call: remove ? { remove: true } : {} })
    }
    if (remove) yield* store.publish(FORGOTTEN_CHANNEL, name)
  }
  return found
})
