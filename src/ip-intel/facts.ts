/** Facts, the typed failure and the `Provider` interface. Separate from `ip-intel/IpIntel.ts`, since providers and the service import it. */
import { Effect, Record, Schema, Struct } from "effect"
import { BLOCKS } from "../protocol/block-reasons.ts"
import { stackless } from "../protocol/refusals.ts"

/**
 * True, false, or null when the provider supports this fact but did not report it. For a blocked fact `IpIntel.OnError` decides
 * what null means. A fact that a provider does not support, such as datacenters with vpnapi.io, is false.
 */
const Fact = Schema.NullOr(Schema.Boolean)

/** What a provider knows about one address. */
export const IpFacts = Schema.Struct({
  ...Record.map(BLOCKS, () => Fact),
  /** a privacy relay such as Apple's, as opposed to a VPN or a proxy: an address with `relay` has neither */
  relay: Fact,
})
export type IpFacts = typeof IpFacts.Type

/** Every fact is false. */
export const noFacts: IpFacts = Record.map(IpFacts.fields, () => false)

/** The facts that a setting can block, in the order in which a refusal names them: a Tor exit is named as such, whatever else it is. */
export const BLOCKABLE = Struct.keys(BLOCKS).toSorted((a, b) => Number(b === "tor") - Number(a === "tor"))

/** What a provider reported for one fact: absent and null mean unknown; `never` that it does not support the fact. */
export type ReportedFact = boolean | null | undefined | "never"

const factOf = (reported: ReportedFact): boolean | null => (reported === "never" ? false : (reported ?? null))

/** Facts of a privacy relay, which a provider may also report as a VPN or a proxy. */
export const asRelay = (facts: IpFacts): IpFacts => ({ ...facts, vpn: false, proxy: false, relay: true })

/** Normalises reported facts: absent and null stay unknown, and a relay is neither a VPN nor a proxy. */
export const ipFacts = (reported: { readonly [K in keyof IpFacts]: ReportedFact }): IpFacts => {
  const facts = Record.map(reported, factOf)
  return facts.relay === true ? asRelay(facts) : facts
}

/** Whether a provider's name of a service is that of a privacy relay. */
export const isRelayName = (service: unknown): boolean =>
  typeof service === "string" && /\bprivate relay\b|\bicloud\b/i.test(service)

/** As `ipFacts`, for an answer that must contain at least one fact that can be blocked; fails otherwise. */
export const factsOf = (
  fail: ReturnType<typeof failing>,
  reported: { readonly [K in keyof IpFacts]: ReportedFact },
): Effect.Effect<IpFacts, IpIntelFailed> =>
  BLOCKABLE.some((fact) => typeof reported[fact] === "boolean")
    ? Effect.succeed(ipFacts(reported))
    : fail("malformed", "answered without any fact")

/**
 * Combines several facts of a provider into one of ours: true when any is true, unknown when any is unknown. `sometimes` are
 * facts that smaller plans omit: absent ones are ignored, null ones are unknown.
 */
export const anyOf = (
  always: ReadonlyArray<boolean | null | undefined>,
  sometimes: ReadonlyArray<boolean | null | undefined> = [],
): boolean | null => {
  if (always.includes(true) || sometimes.includes(true)) return true
  return always.every((fact) => fact === false) && !sometimes.includes(null) ? false : null
}

export const Flag = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

/** The provider gave no usable answer. An exceeded quota is a failure, not a clean address. */
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
    /** HTTP 400 or 404, or a message about the address: the provider has nothing on this address */
    "rejected",
    /** an error in an answer with status 200, for a reason that is not one of the others */
    "refused",
  ]),
  message: Schema.String,
}) {}

/** Makes a provider's `fail`: `fail("quota", "answered HTTP 429")`. Without a stack, since every request fails while a provider is down. */
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

/** A source of facts. `lookup` gets only public addresses in canonical form. */
export interface Provider {
  /** the provider's name in the settings */
  readonly name: string
  /** Call it once per lookup: a local provider may search during the call, not when the effect runs, which saves a fiber. */
  readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
}
