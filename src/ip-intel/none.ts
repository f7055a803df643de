/** No provider: nothing is known of any address. */
import { Effect } from "effect"
import { noFacts, type Provider } from "./facts.ts"

export const none: Provider = { name: "none", lookup: () => Effect.succeed(noFacts) }
