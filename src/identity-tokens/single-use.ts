/** Remembers in the store for which ticket a token was used (`Identity.SingleUse`), for as long as it is accepted. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { identityRefused } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import { CLOCK_TOLERANCE_MILLIS, type IdentityTokens, type TokenUse, type VerifiedToken } from "./IdentityTokens.ts"
import { retakeToken, unuseToken, useToken } from "./rules/token-use.ts"

const useRule = ruleOf("identity.use", runPlain(useToken), Schema.String)
const retakeRule = ruleOf("identity.retake", runPlain(retakeToken), Schema.String)
const unuseRule = ruleOf("identity.unuse", runPlain(unuseToken), Schema.Boolean)

/** Two subjects may have the same `jti`, and neither may get the other's ticket. The store learns neither. */
const keyOf = ({ identity, use = "" }: VerifiedToken): string =>
  `vg:token:${createHash("sha256")
    .update(JSON.stringify([identity.subject, use]))
    .digest("base64url")
    .slice(0, 32)}`

/**
 * For how much longer a use is remembered where the store's time is not the time of day (ms): a clock that is set back, by up to so much,
 * makes a token valid again.
 */
const SET_BACK_MILLIS = 86_400_000

const textOf = (at: number, ticket: string): string => `${at} ${ticket}`

export const singleUse = (store: Store["Service"]): Pick<IdentityTokens["Service"], "retake" | "unuse" | "use"> => {
  const longer = store.aheadMillis === undefined ? 0 : SET_BACK_MILLIS
  const useFor = (token: VerifiedToken, ticket: string, lost: TokenUse | undefined) =>
    token.use === undefined
      ? Effect.fail(identityRefused("malformed"))
      : Effect.flatMap(store.now, (now) => {
          const left = token.until + CLOCK_TOLERANCE_MILLIS - (now + aheadOf(store))
          const call = { use: textOf(now, ticket), lifetime: Math.max(1, left) + longer }
          const ask = { keys: [keyOf(token)], now, context: NO_CONTEXT }
          const stored =
            lost === undefined
              ? store.run(useRule, { ...ask, call })
              : store.run(retakeRule, { ...ask, call: { ...call, lost: textOf(lost.at, lost.ticket) } })
          return Effect.map(stored, (text): TokenUse => {
            const [at = "", usedFor = ""] = text.split(" ", 2)
            return {
              ticket: usedFor,
              own: text === call.use,
              at: Number(at),
              // the gate that stored it may be a few milliseconds ahead
              ageMillis: Math.abs(now - Number(at)),
            }
          })
        })
  return {
    use: (token, ticket) => useFor(token, ticket, undefined),
    retake: useFor,
    unuse: (token, { at, ticket }) =>
      Effect.flatMap(store.now, (now) =>
        Effect.asVoid(
          store.run(unuseRule, { keys: [keyOf(token)], now, context: NO_CONTEXT, call: { use: textOf(at, ticket) } }),
        ),
      ),
  }
}
