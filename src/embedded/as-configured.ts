/** Composes the gate from its services as configured. A host may provide its own layer of any of them. */
import { Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Admission from "../admission/layer.ts"
import * as FifoQueue from "../fifo-queue/layer.ts"
import * as StartupChecks from "../gatekeeper/background/startup-checks.ts"
import * as Gatekeeper from "../gatekeeper/layer.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"
import * as Operator from "../operator/layer.ts"
import * as PlatformApi from "../platform-api/layer.ts"
import * as PushChannel from "../push-channel/layer.ts"
import * as RateLimiter from "../rate-limiter/layer.ts"
import * as Store from "../store/layer.ts"

/** The gatekeeper and its operator over a queue and other services that the caller provides. Limits use its `Store`. */
export const layerOverQueue = Operator.layer.pipe(
  Layer.provideMerge(Gatekeeper.layer),
  Layer.provideMerge(Admission.layerAtomic),
  Layer.provideMerge(RateLimiter.layer),
)

/** The gatekeeper and its operator over services that the caller provides. Limits and queue use its `Store`. */
export const layerNoDeps = layerOverQueue.pipe(Layer.provideMerge(FifoQueue.layer))

/** The services that a host may provide in place of the configured ones. */
export interface OwnServices {
  readonly ipIntel?: typeof IpIntel.layer
  readonly platform?: typeof PlatformApi.layer
  readonly store?: typeof Store.layer
}

/**
 * The gatekeeper with every service as configured, except the given ones. At start it checks the platform and the IP provider, and logs the
 * results.
 */
export const layerWith = ({
  ipIntel = IpIntel.layer,
  platform = PlatformApi.layer,
  store = Store.layer,
}: OwnServices) =>
  StartupChecks.layer.pipe(
    Layer.provideMerge(layerNoDeps),
    Layer.provideMerge(Layer.mergeAll(ipIntel, platform, PushChannel.layerShared)),
    Layer.provideMerge(store),
    Layer.provide(FetchHttpClient.layer),
  )

/** The gatekeeper with every service as configured. */
export const layer = layerWith({})
