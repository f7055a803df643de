/**
 * What is known about an address: facts, never a verdict, so that a changed setting takes effect at once. A provider without
 * a usable answer is a typed failure; the gatekeeper decides what that means for the caller (`IpIntel.OnError`).
 */
import { Context, type Effect, Layer } from "effect"
import type { HttpClient } from "effect/http"
import { lazyLayer } from "../lib/lazy-layer.ts"
import type { Settings } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import type { IpFacts, IpIntelFailed, IpIntelSetupError } from "./facts.ts"

export class IpIntel extends Context.Service<
  IpIntel,
  {
    /** the provider's name, shown in logs and by `check` */
    readonly provider: string
    /**
     * Facts about one address in canonical form (`canonicalAddress` of `lib/ip/address.ts`). Private, loopback and other
     * non-public addresses yield `noFacts` without a lookup. Local lists are searched during the call itself and not when the
     * effect runs, so call it once per lookup.
     */
    readonly lookup: (address: string) => Effect.Effect<IpFacts, IpIntelFailed>
    /**
     * Succeeds when the provider gives a usable answer now. Looks up a well-known public address without cache, circuit
     * breaker and budget: for the `check` command, not for requests.
     */
    readonly probe: Effect.Effect<void, IpIntelFailed>
  }
>()("voicegate/IpIntel") {
  /** The provider from the settings, behind caches, time-out, circuit breaker and lookup budget. */
  static readonly layer: Layer.Layer<IpIntel, IpIntelSetupError, Settings | Store | HttpClient.HttpClient> = lazyLayer(
    async () => {
      const { layerNames, make } = await import("./layer.ts")
      return Layer.effect(IpIntel, make).pipe(Layer.provide(layerNames))
    },
  )
}
