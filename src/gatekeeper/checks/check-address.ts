/**
 * Blocks callers whose address is a VPN, proxy, Tor or data centre address, according to `Security.Block*`, and counts those whom
 * `Security.Shadow.Block*` would block.
 */
import { Effect, Metric } from "effect"
import type { CallerNames } from "../../caller-names/CallerNames.ts"
import { limitKey } from "../../ip-intel/address.ts"
import { BLOCKABLE, type IpFacts, type IpIntelFailed } from "../../ip-intel/facts.ts"
import { IpIntel } from "../../ip-intel/IpIntel.ts"
import type { Blocked, QueueFull, RateLimited } from "../../protocol/refusals.ts"
import { blocked } from "../../protocol/refusals.ts"
import { RateLimiter } from "../../rate-limiter/RateLimiter.ts"
import { isHttpProvider } from "../../settings/groups/ip-intel.ts"
import { type Campaign, Settings, type SettingsTree } from "../../settings/Settings.ts"
import * as metrics from "../metrics.ts"
import type { FullQueues } from "./FullQueues.ts"
import type { Shadow } from "./Shadow.ts"
import { makeUnchecked } from "./unchecked.ts"

export type CheckAddress = (
  address: string,
  campaign: Campaign,
) => Effect.Effect<void, Blocked | QueueFull | RateLimited>

/** Which facts are blocked, by these settings. */
const blocksOf = ({
  BlockDatacenter,
  BlockProxy,
  BlockTor,
  BlockVpn,
}: Pick<SettingsTree["Security"], "BlockDatacenter" | "BlockProxy" | "BlockTor" | "BlockVpn">) => ({
  vpn: BlockVpn,
  proxy: BlockProxy,
  tor: BlockTor,
  datacenter: BlockDatacenter,
})

/**
 * A caller whose rate limit is known to be exhausted, or who comes to a full queue, is refused without a lookup: lookups cost money, and
 * all callers share the provider's budget.
 */
export const makeCheckAddress = Effect.fnUntraced(function* (
  names: CallerNames["Service"],
  { refuse }: Shadow,
  fullQueues: Pick<FullQueues, "refusal">,
) {
  const { IpIntel: intel, Security } = yield* Settings
  const limiter = yield* RateLimiter
  const ipIntel = yield* IpIntel
  const unchecked = yield* makeUnchecked(intel.OnError)
  const asksProvider = isHttpProvider(intel.Provider)
  const blocks = blocksOf(Security)
  const forbidden = BLOCKABLE.filter((fact) => blocks[fact])
  const shadowBlocks = blocksOf(Security.Shadow)
  const shadowed = BLOCKABLE.filter((fact) => shadowBlocks[fact] && !blocks[fact])
  if (forbidden.length === 0 && shadowed.length === 0) return (): Effect.Effect<void> => Effect.void

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
      return reason === undefined ? judged : Effect.andThen(judged, refuse(campaign, reason))
    },
  })
  const judgeIn = shadowed.length === 0 ? () => judge : withShadow
  /** Hot path: a lookup that is already done, as of a list, is judged without an operation of the fiber. */
  const lookUp = (address: string, { onFailure, onSuccess }: typeof judge): Effect.Effect<void, Blocked> =>
    Effect.matchCauseEffectEager(ipIntel.lookup(address), {
      onSuccess,
      onFailure: (cause) => Effect.catch(Effect.failCause(cause), onFailure),
    })
  const check: CheckAddress = (address, campaign) =>
    Effect.flatMap(
      limiter.refusal(names.of(limitKey(address))),
      (limited): Effect.Effect<void, Blocked | QueueFull | RateLimited> => {
        const refused = limited ?? (asksProvider ? fullQueues.refusal(campaign) : undefined)
        return refused === undefined ? lookUp(address, judgeIn(campaign)) : Effect.fail(refused)
      },
    )
  return check
})
