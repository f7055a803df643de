/**
 * The gate put together: every concern as the settings say, each of which a host may replace by providing its own layer.
 */
import { Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Admission from "./Admission.ts"
import * as FifoQueue from "./FifoQueue.ts"
import * as Gatekeeper from "./Gatekeeper.ts"
import * as StartReport from "./gatekeeper/start-report.ts"
import { IpIntel } from "./IpIntel.ts"
import * as Operator from "./operator/Operator.ts"
import * as PlatformApi from "./PlatformApi.ts"
import * as PushChannel from "./PushChannel.ts"
import * as RateLimiter from "./RateLimiter.ts"
import * as Store from "./store/layer.ts"

/** The gatekeeper and its operator over concerns that the caller provides; limits and queue stand on its `Store`. */
export const layerNoDeps = Operator.layer.pipe(
  Layer.provideMerge(Gatekeeper.layer),
  Layer.provideMerge(Admission.layerAtomic),
  Layer.provideMerge(Layer.mergeAll(RateLimiter.layer, FifoQueue.layer)),
)

/** The gatekeeper with everything that the settings name; it logs what platform and IP provider say of the settings. */
export const layer = Layer.merge(layerNoDeps, StartReport.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(IpIntel.layer, PlatformApi.layer, PushChannel.layerShared)),
  Layer.provideMerge(Store.layer),
  Layer.provide(FetchHttpClient.layer),
)
