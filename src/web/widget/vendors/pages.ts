/** The page's part of each vendor: how its SDK connects a call. Each is a file of its own, which is loaded for a call of that vendor alone. */
import type { Vendor } from "./vendor.ts"

type VendorPage = () => Promise<{ readonly default: Vendor }>

/** By the `platform` of a credential, or by its `shape` where that alone says how a call is connected. */
export const pages: ReadonlyMap<string, VendorPage> = new Map<string, VendorPage>([
  ["livekit", () => import("../../../platform-api/livekit/page.ts")],
  ["retell", () => import("../../../platform-api/retell/page.ts")],
  ["vapi", () => import("../../../platform-api/vapi/page.ts")],
  ["elevenlabs", () => import("../../../platform-api/elevenlabs/page.ts")],
  ["ultravox", () => import("../../../platform-api/ultravox/page.ts")],
  ["sdp-relay", () => import("../../../platform-api/openai/page.ts")],
  ["pipecat", () => import("../../../platform-api/pipecat/page.ts")],
  ["daily", () => import("../../../platform-api/daily/page.ts")],
  ["deepgram", () => import("../../../platform-api/deepgram/page.ts")],
  ["assemblyai", () => import("../../../platform-api/assemblyai/page.ts")],
  ["cartesia", () => import("../../../platform-api/cartesia/page.ts")],
])

/** The page's part whose SDK, with these exports, may be unable to call on a page; undefined of any other SDK. */
export const pageWithNeeds = (sdk: object): VendorPage | undefined =>
  "Conversation" in sdk ? pages.get("elevenlabs") : undefined
