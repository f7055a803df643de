/** Blocks callers whose address is a VPN, proxy, Tor or data centre address, according to `Security.Block*`. */
import { Effect, Metric } from "effect"
import type { CallerNames } from "../CallerNames.ts"
import { type IpFacts, IpIntel, type IpIntelFailed } from "../IpIntel.ts"
import { limitKey } from "../ip-intel/address.ts"
import { BLOCKABLE } from "../ip-intel/facts.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { blocked } from "../refusals.ts"
import type { Blocked, RateLimited } from "../Session.ts"
import { Settings } from "../Settings.ts"
import * as metrics from "./metrics.ts"
import { makeUnchecked } from "./unchecked.ts"

export type CheckAddress = (address: string) => Effect.Effect<void, Blocked | RateLimited>

/**
 * A caller whose rate limit is known to be exhausted is refused without a lookup: lookups cost money, and all callers share the
 * provider's budget.
 */
export const makeCheckAddress = Effect.fnUntraced(function* (names: CallerNames["Service"]) {
  const { IpIntel: intel, Security } = yield* Settings
  const limiter = yield* RateLimiter
  const ipIntel = yield* IpIntel
  const unchecked = yield* makeUnchecked(intel.OnError)
  const { BlockDatacenter, BlockProxy, BlockTor, BlockVpn } = Security
  const blocks = { vpn: BlockVpn, proxy: BlockProxy, tor: BlockTor, datacenter: BlockDatacenter }
  const forbidden = BLOCKABLE.filter((fact) => blocks[fact])
  if (forbidden.length === 0) return (): Effect.Effect<void> => Effect.void

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
    onFailure: ({ message, reason }: IpIntelFailed) => unchecked(reason, message),
  }
  const check: CheckAddress = (address) =>
    Effect.flatMap(
      limiter.refusal(names.of(limitKey(address))),
      (refused): Effect.Effect<void, Blocked | RateLimited> =>
        refused === undefined ? Effect.matchEffect(ipIntel.lookup(address), judge) : Effect.fail(refused),
    )
  return check
})
