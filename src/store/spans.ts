/** Spans of the store's operations. A key may hold an address, so only the rule is named. */
import { Effect } from "effect"
import { hasTracer, inSpan } from "../lib/spans.ts"
import type { Store } from "./Store.ts"

const spanned = (store: Store["Service"]): Store["Service"] => ({
  ...store,
  run: (rule, ask) => inSpan("Store.run", { attributes: { "voicegate.rule": rule.name } })(store.run(rule, ask)),
  get: (key) => inSpan("Store.get")(store.get(key)),
  set: (key, value, ttlMillis) => inSpan("Store.set")(store.set(key, value, ttlMillis)),
  publish: (channel, message) => inSpan("Store.publish")(store.publish(channel, message)),
  ping: inSpan("Store.ping")(store.ping),
})

/** The store itself without a tracer, since its steps are on the hot path. */
export const withSpans = (store: Store["Service"]): Effect.Effect<Store["Service"]> =>
  Effect.map(hasTracer, (is) => (is ? spanned(store) : store))
