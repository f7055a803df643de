/**
 * The vocabulary of the concern: facts, the typed failure, and what a provider is. Apart from `IpIntel.ts` so that
 * providers and the service can both import it.
 */
import { Effect, Schema } from "effect"
import { stackless } from "../Session.ts"

/** What a provider knows of one address. Absent keys of a provider are false. */
export const IpFacts = Schema.Struct({
  vpn: Schema.Boolean,
  proxy: Schema.Boolean,
  tor: Schema.Boolean,
  datacenter: Schema.Boolean,
  /** a privacy relay such as Apple's, told apart from a VPN: both are never true at once */
  relay: Schema.Boolean,
})
export type IpFacts = typeof IpFacts.Type

/** Nothing is held against the address. */
export const noFacts: IpFacts = { vpn: false, proxy: false, tor: false, datacenter: false, relay: false }

/** Completes what a provider said: absent and null are false, and a relay is no VPN. */
export const ipFacts = (said: { readonly [K in keyof IpFacts]?: boolean | null | undefined }): IpFacts => ({
  vpn: said.vpn === true && said.relay !== true,
  proxy: said.proxy === true,
  tor: said.tor === true,
  datacenter: said.datacenter === true,
  relay: said.relay === true,
})

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
  readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}
