/**
 * The local platform for hosts' tests and examples (`voicegate/platform`): users, businesses, keys, web sessions and calls, as the gate
 * knows them over the wire, on this machine. `startLocalPlatform` returns promises; `layerPlatform` is the same with Effect.
 */
import "../lib/node-version.ts"

export { type LocalPlatform, type LocalPlatformOptions, startLocalPlatform } from "./local.ts"
export { layer as layerPlatform, type Options as PlatformOptions, Platform } from "./Platform.ts"
export { makeStarterAccount } from "./starter.ts"
