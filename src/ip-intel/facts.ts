/**
 * The vocabulary of the concern: facts, the typed failure, and what a provider is. Apart from `IpIntel.ts` so that
 * providers and the service can both import it.
 */
import { Effect, Schema } from "effect"
import { stackless } from "../Session.ts"

/**
 * Yes, no, or null: the provider knows such facts and did not say. What null means for a caller is `IpIntel.OnError`'s to
 * decide, where that fact is blocked. A fact that a provider never knows, such as datacenters with vpnapi.io, is false.
 */
const Fact = Schema.NullOr(Schema.Boolean)

/** What a provider knows of one address. */
export const IpFacts = Schema.Struct({
  vpn: Fact,
  /** an open or a residential proxy */
  proxy: Fact,
  tor: Fact,
  datacenter: Fact,
  /** a privacy relay such as Apple's, told apart from a VPN: both are never true at once */
  relay: Fact,
})
export type IpFacts = typeof IpFacts.Type

/** Nothing is held against the address. */
export const noFacts: IpFacts = { vpn: false, proxy: false, tor: false, datacenter: false, relay: false }

/** The facts that a setting can block, in the order in which a refusal names them. */
export const BLOCKABLE = ["tor", "vpn", "proxy", "datacenter"] as const

/** What a provider said of one fact: absent and null are unknown; `never` where it knows no such facts. */
export type Said = boolean | null | undefined | "never"

const factOf = (said: Said): boolean | null => (said === "never" ? false : (said ?? null))

/** Completes what a provider said: absent and null stay unknown, and a relay is no VPN. */
export const ipFacts = (said: { readonly [K in keyof IpFacts]: Said }): IpFacts => ({
  vpn: said.relay === true ? false : factOf(said.vpn),
  proxy: factOf(said.proxy),
  tor: factOf(said.tor),
  datacenter: factOf(said.datacenter),
  relay: factOf(said.relay),
})

/** The same, of an answer that must hold at least one fact which can be blocked; an answer without any is a failure. */
export const answered = (
  fail: ReturnType<typeof failing>,
  said: { readonly [K in keyof IpFacts]: Said },
): Effect.Effect<IpFacts, IpIntelFailed> =>
  BLOCKABLE.some((fact) => typeof said[fact] === "boolean")
    ? Effect.succeed(ipFacts(said))
    : fail("malformed", "answered without any fact")

/**
 * Several facts of a provider that are one of ours: yes when one is, unknown when one is not known. `sometimes` are those that
 * smaller plans leave out; absent they are passed over, null they are unknown.
 */
export const anyOf = (
  always: ReadonlyArray<boolean | null | undefined>,
  sometimes: ReadonlyArray<boolean | null | undefined> = [],
): boolean | null => {
  if (always.includes(true) || sometimes.includes(true)) return true
  return always.every((fact) => fact === false) && !sometimes.includes(null) ? false : null
}

/** A provider's boolean, which may be missing or null. */
export const Flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

/** The provider gave no usable answer; a quota answer is a failure too, not a clean address. */
export class IpIntelFailed extends Schema.TaggedError<IpIntelFailed>()("IpIntelFailed", {
  provider: Schema.String,
  /** what went wrong, without the key */
  reason: Schema.Literals([
    "timeout",
    "unreachable",
    "quota",
    "unauthorized",
    "malformed",
    "circuit_open",
    "budget",
    "network_budget",
    "rejected",
  ]),
  message: Schema.String,
}) {}

/**
 * Fails in a provider's name: `fail("quota", "answered HTTP 429")`. Without a stack, since while a provider is down every
 * request fails so.
 */
export const failing =
  (provider: string) =>
  (reason: IpIntelFailed["reason"], what: string): Effect.Effect<never, IpIntelFailed> =>
    Effect.suspend(() =>
      Effect.fail(stackless(() => new IpIntelFailed({ provider, reason, message: `${provider} ${what}` }))),
    )

/** The layer cannot start: `setting` names the setting at fault, `message` says what is wrong with it. */
export class IpIntelSetupError extends Schema.TaggedError<IpIntelSetupError>()("IpIntelSetupError", {
  setting: Schema.String,
  message: Schema.String,
}) {}

/** A source of facts. It is only asked for public addresses in canonical form. */
export interface Provider {
  /** the provider's name in the settings */
  readonly name: string
  /** Call it for every lookup: what needs no waiting may be looked up by the call itself, which saves a fiber. */
  readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}
