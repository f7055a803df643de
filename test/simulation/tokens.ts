/**
 * The tokens of callers: who has signed one is not in question here, so it is a text, and checking one takes no time. That it is used once is
 * the store's, as in the gate.
 */
import { Effect, Layer } from "effect"
import { IdentityTokens, type VerifiedToken } from "../../src/identity-tokens/IdentityTokens.ts"
import { singleUse } from "../../src/identity-tokens/single-use.ts"
import { identityRefused } from "../../src/protocol/refusals.ts"
import { Store } from "../../src/store/Store.ts"
import type { Arrive } from "./plan.ts"

/** Later than any history. */
const UNTIL = 8_000_000_000_000

/** The token of a caller; undefined for one without. */
export const tokenTextOf = ({ id, token }: Arrive): string | undefined =>
  token === undefined ? undefined : JSON.stringify([token.subject, String(id), token.callSeconds ?? 0])

const read = (text: string): VerifiedToken | undefined => {
  const [subject, use, callSeconds]: ReadonlyArray<unknown> = JSON.parse(text)
  if (typeof subject !== "string" || typeof use !== "string") return undefined
  const limits = typeof callSeconds === "number" && callSeconds > 0 ? { limits: { callSeconds } } : {}
  return { identity: { subject, ...limits }, use, until: UNTIL }
}

export const layer: Layer.Layer<IdentityTokens, never, Store> = Layer.effect(
  IdentityTokens,
  Effect.map(Store, (store) => ({
    ...singleUse(store),
    verify: (text) => {
      const token = read(text)
      return token === undefined ? Effect.fail(identityRefused("malformed")) : Effect.succeed(token)
    },
    keys: undefined,
  })),
)
