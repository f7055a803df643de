/** Remembers in the store for which ticket a token was used (`Identity.SingleUse`), for as long as it is accepted. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { identityRefused } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { CLOCK_TOLERANCE_MILLIS, type IdentityTokens, type VerifiedToken } from "./IdentityTokens.ts"
import { unuseToken, useToken } from "./rules/token-use.ts"

const useRule = ruleOf("identity.use", runPlain(useToken), Schema.String)
const unuseRule = ruleOf("identity.unuse", runPlain(unuseToken), Schema.Boolean)

/** Two subjects may have the same `jti`, and neither may get the other's ticket. The store learns neither. */
const keyOf = ({ identity, use = "" }: VerifiedToken): string =>
  `vg:token:${createHash("sha256")
    .update(JSON.stringify([identity.subject, use]))
    .digest("base64url")
    .slice(0, 32)}`

const textOf = (at: number, ticket: string): string => `${at} ${ticket}`

export const singleUse = (store: Store["Service"]): Pick<IdentityTokens["Service"], "unuse" | "use"> => {
  return {
    use: (token, ticket) =>
      token.use === undefined
        ? Effect.fail(identityRefused("malformed"))
        : Effect.flatMap(store.now, (now) => {
            const call = { use: textOf(now, ticket), lifetime: Math.max(1, token.until + CLOCK_TOLERANCE_MILLIS - now) }
            return Effect.map(
              store.run(useRule, { keys: [keyOf(token)], now, context: NO_CONTEXT, call }),
              (stored) => {
                const [at = "", usedFor = ""] = stored.split(" ", 2)
                return {
                  ticket: usedFor,
                  own: stored === call.use,
                  at: Number(at),
                  // the gate that stored it may be a few milliseconds ahead
                  ageMillis: Math.abs(now - Number(at)),
                }
              },
            )
          }),
    unuse: (token, { at, ticket }) =>
      Effect.ignore(
        Effect.flatMap(store.now, (now) =>
          store.run(unuseRule, { keys: [keyOf(token)], now, context: NO_CONTEXT, call: { use: textOf(at, ticket) } }),
        ),
      ),
  }
}
