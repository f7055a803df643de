/** What a host with Effect imports of the gate's HTTP (`voicegate/http`): listeners for its own node server, or a server of the gate's. */
import "../node-version.ts"

export { AccessLog, type AccessLogService, type Entry as AccessLogEntry } from "./access-log.ts"
export {
  /** The gate's HTTP on your own `HttpRouter`, below `basePath`; needs `Listeners`. */
  layer as layerHttpRouter,
} from "./http-router.ts"
export {
  Listeners,
  /** The gate's HTTP as listeners for a node server, at the root or below `basePath`. */
  layer as layerListeners,
  type Options as ListenersOptions,
} from "./listeners.ts"
export {
  GateServer,
  ListenFailed,
  /** The gate's own node server, at `Server.Host` and `Server.Port`. */
  layer as layerServer,
} from "./server.ts"
export { refuseUpgrade } from "./write-answer.ts"
