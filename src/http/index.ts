/** What a host with Effect imports of the gate's HTTP (`voicegate/http`): listeners for its own node server, or a server of the gate's. */
import "../lib/node-version.ts"

export { ListenFailed } from "../serving/listen-failed.ts"
export { AccessLog, type AccessLogService, type Entry as AccessLogEntry } from "./access-log/access-log.ts"
export { refuseUpgrade } from "./answers/write-answer.ts"
export { GateServer, Listeners, type Options as ListenersOptions } from "./Listeners.ts"
export { layerHttpRouter, layerListeners, layerServer } from "./layers.ts"
