/**
 * Blocks callers whose address an operator has blocked, or for a fact of it, such as a VPN, according to `Security.Block*`, and counts those
 * whom `Security.Shadow.Block*` would block.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { BLOCKABLE, type IpFacts, type IpIntelFailed } from "../../ip-intel/facts.ts"
import { IpIntel } from "../../ip-intel/IpIntel.ts"
import { isHttpProvider } from "../../ip-intel/provider-kinds.ts"
import { BLOCKS, isInForce } from "../../protocol/block-reasons.ts"
import type { Identity } from "../../protocol/identity.ts"
import type { Blocked, QueueFull, RateLimited } from "../../protocol/refusals.ts"
import { blocked } from "../../protocol/refusals.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import { type Campaign, Settings } from "../../settings/Settings.ts"
import { CallerWatch } from "../CallerWatch.ts"
import * as metrics from "../metrics.ts"
import { tracing } from "../spans.ts"
import { callerOf } from "./caller-keys.ts"
import { FullQueues } from "./FullQueues.ts"
import { Shadow } from "./Shadow.ts"
import { Unchecked } from "./Unchecked.ts"

/**
 * A caller whose rate limit is known to be exhausted, or who comes to a full queue, is refused without a lookup: lookups cost money, and
 * all callers share the provider's budget. Nor is one for a known caller whom `Identity.Trust` spares the check.
 */
export class CheckAddress extends Context.Service<
  CheckAddress,
  (address: string, campaign: Campaign, identity?: Identity) => Effect.Effect<void, Blocked | QueueFull | RateLimited>
>()("voicegate/gatekeeper/CheckAddress") {}

export const layer: Layer.Layer<
  CheckAddress,
  never,
  CallerWatch | CallerNames | FullQueues | IpIntel | RateLimiter | Settings | Shadow | Unchecked
> = Layer.effect(
  CheckAddress,
  Effect.gen(function* () {
    const {
      Identity: { Trust },
      IpIntel: intel,
      Security,
    } = yield* Settings
    const fullQueues = yield* FullQueues
    const ipIntel = yield* IpIntel
    const limiter = yield* RateLimiter
    const names = yield* CallerNames
    const shadow = yield* Shadow
    const unchecked = yield* Unchecked
    const traced = yield* tracing
    const asksProvider = isHttpProvider(intel.Provider)
    const forbidden = BLOCKABLE.filter((fact) => isInForce(Security[BLOCKS[fact].setting]))
    const shadowed = BLOCKABLE.filter(
      (fact) => isInForce(Security.Shadow[BLOCKS[fact].setting]) && !forbidden.includes(fact),
    )

    const judge = {
      onSuccess: (facts: IpFacts): Effect.Effect<void, Blocked> => {
        const reason = forbidden.find((fact) => facts[fact] === true)
        if (reason !== undefined) {
          return Effect.andThen(Metric.update(metrics.blocked[reason], 1), Effect.fail(blocked(reason)))
        }
        const unknown = forbidden.find((fact) => facts[fact] === null)
        return unknown === undefined
          ? Effect.void
          : unchecked("unknown_fact", `${ipIntel.provider} does not say whether the address is ${unknown}`)
      },
      onFailure: ({ message, reason }: IpIntelFailed) =>
        // shadow blocks need no decision about a caller who could not be checked
        forbidden.length === 0 ? Effect.void : unchecked(reason, message),
    }
    const withShadow = (campaign: Campaign): typeof judge => ({
      ...judge,
      onSuccess: (facts) => {
        const reason = shadowed.find((fact) => facts[fact] === true)
        const judged = judge.onSuccess(facts)
        return reason === undefined ? judged : Effect.andThen(judged, shadow.refuse(campaign, reason))
      },
    })
    const judgeIn = shadowed.length === 0 ? () => judge : withShadow
    /** Hot path: a lookup that is already done, as of a list, is judged without an operation of the fiber. */
    const lookUp = (address: string, { onFailure, onSuccess }: typeof judge): Effect.Effect<void, Blocked> =>
      Effect.matchCauseEffectEager(ipIntel.lookup(address), {
        onSuccess,
        onFailure: (cause) => Effect.catch(Effect.failCause(cause), onFailure),
      })
    const isSpared = (identity: Identity | undefined): boolean =>
      identity !== undefined && (identity.trust ?? Trust) === "address-check"
    const check: CheckAddress["Service"] = (address, campaign, identity) =>
      Effect.flatMap(
        limiter.refusal(callerOf(names, address, identity), identity?.limits),
        (limited): Effect.Effect<void, Blocked | QueueFull | RateLimited> => {
          const refused = limited ?? (asksProvider ? fullQueues.refusal(campaign) : undefined)
          if (refused !== undefined) return Effect.fail(refused)
          return isSpared(identity) ? Effect.void : lookUp(address, judgeIn(campaign))
        },
      )
    const { watch } = yield* CallerWatch
    const checkFacts: CheckAddress["Service"] =
      forbidden.length === 0 && shadowed.length === 0 ? () => Effect.void : check
    const checkAll: CheckAddress["Service"] = (address, campaign, identity) =>
      watch?.isBlocked(address) === true
        ? Effect.andThen(Metric.update(metrics.blocked.operator, 1), Effect.fail(blocked("operator")))
        : checkFacts(address, campaign, identity)
    return traced("Gatekeeper.checkAddress", watch === undefined ? checkFacts : checkAll)
  }),
)
