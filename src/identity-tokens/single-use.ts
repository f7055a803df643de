/** Remembers in the store for which ticket a token was used (`Identity.SingleUse`), for as long as it is accepted. */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { identityRefused } from "../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"
import { runPlain } from "../store/rules/run.ts"
import type { Store } from "../store/Store.ts"
import { aheadOf } from "../store/time-of-day.ts"
import { CLOCK_TOLERANCE_MILLIS, type IdentityTokens, type TokenUse, type VerifiedToken } from "./IdentityTokens.ts"
import { FORGOTTEN, retakeToken, unuseToken, useToken } from "./rules/token-use.ts"

const useRule = ruleOf("identity.use", runPlain(useToken), Schema.String)
const retakeRule = ruleOf("identity.retake", runPlain(retakeToken), Schema.String)
const unuseRule = ruleOf("identity.unuse", runPlain(unuseToken), Schema.Boolean)

/** Two subjects may have the same `jti`, and neither may get the other's ticket. The store learns neither. */
const keyOf = ({ identity, use = "" }: VerifiedToken): string =>
  `vg:token:${createHash("sha256")
    .update(JSON.stringify([identity.subject, use]))
    .digest("base64url")
    .slice(0, 32)}`

/** For how much longer than its token a use is remembered (ms): a clock that is set back, by up to so much, makes a token valid again. */
const SET_BACK_MILLIS = 3_600_000
/** The same where the last uses are kept for good, of one that is not among the last: there the time of day follows a single clock (`rules/token-use.ts`). */
const KEPT_MILLIS = 86_400_000
/** Of a store whose time is not the time of day. */
const KEPT_KEYS = ["vg:tokens:uses", "vg:tokens:forgotten"]

const textOf = (at: number, ticket: string): string => `${at} ${ticket}`

export const singleUse = (store: Store["Service"]): Pick<IdentityTokens["Service"], "retake" | "unuse" | "use"> => {
  const isKept = store.aheadMillis !== undefined
  const useFor = (token: VerifiedToken, ticket: string, lost: TokenUse | undefined) =>
    token.use === undefined
      ? Effect.fail(identityRefused("malformed"))
      : Effect.flatMap(store.now, (now) => {
          const [until, day] = [token.until + CLOCK_TOLERANCE_MILLIS, now + aheadOf(store)]
          const call = {
            use: textOf(now, ticket),
            lifetime: Math.max(1, until - day) + SET_BACK_MILLIS,
            ...(isKept ? { until, forgets: day - KEPT_MILLIS } : {}),
          }
          const ask = { keys: [keyOf(token), ...(isKept ? KEPT_KEYS : [])], now, context: NO_CONTEXT }
          const stored =
            lost === undefined
              ? store.run(useRule, { ...ask, call })
              : store.run(retakeRule, { ...ask, call: { ...call, lost: textOf(lost.at, lost.ticket) } })
          return Effect.flatMap(stored, (text) => {
            if (text === FORGOTTEN) return Effect.fail(identityRefused("replayed"))
            const [at = "", usedFor = ""] = text.split(" ", 2)
            return Effect.succeed<TokenUse>({
              ticket: usedFor,
              own: text === call.use,
              at: Number(at),
              // the gate that stored it may be a few milliseconds ahead
              ageMillis: Math.abs(now - Number(at)),
            })
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
