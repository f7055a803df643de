/**
 * What is known of an address: facts, never the verdict, so that a changed setting acts at once. A provider that gives no
 * usable answer is a typed failure; what that means for the caller (`IpIntel.OnError`) is the gatekeeper's decision.
 */
import { Context, type Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import { CallerNames } from "./CallerNames.ts"
import type { IpFacts, IpIntelFailed, IpIntelSetupError } from "./ip-intel/facts.ts"
import { make } from "./ip-intel/make.ts"
import type { Settings } from "./Settings.ts"
import type { Store } from "./Store.ts"

export { IpFacts, IpIntelFailed, IpIntelSetupError, noFacts } from "./ip-intel/facts.ts"

export class IpIntel extends Context.Service<
  IpIntel,
  {
    /** the provider's name, for logs and `check` */
    readonly provider: string
    /**
     * Facts of one address in canonical form (`canonicalAddress` of `ip-intel/address.ts`). Private, loopback and
     * otherwise non-public addresses answer `noFacts` without a lookup. Lists on this machine answer when it is called, so call
     * it again for what they say later.
     */
    readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
    /**
     * Succeeds when the provider gives a usable answer now. Looks up a well-known public address past caches, circuit
     * breaker and budget: for the `check` command, not for the path of a request.
     */
    readonly probe: Effect.Effect<void, IpIntelFailed>
  }
>()("voicegate/IpIntel") {
  /** The provider that the settings name, behind caches, time-out, circuit breaker and lookup budget. */
  static readonly layer: Layer.Layer<IpIntel, IpIntelSetupError, Settings | Store | HttpClient.HttpClient> =
    Layer.effect(IpIntel, make).pipe(Layer.provide(CallerNames.layer))
}
