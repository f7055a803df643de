/** No provider: every fact of every address is false. */
import { Effect } from "effect"
import { noFacts, type Provider } from "../facts.ts"

export const none: Provider = { name: "none", lookup: () => Effect.succeed(noFacts) }
