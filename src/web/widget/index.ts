/** The widget. Importing it defines `<voice-agent>`; `createVoiceAgent` is the headless client. */
import { defineVoiceAgent } from "./element/element.ts"

export type { AudioFormat } from "./audio/format.ts"
export type { VoiceAgent, VoiceAgentEvents } from "./client/client.ts"
export { createVoiceAgent } from "./client/client.ts"
export type { VoiceAgentOptions, WantedFormat } from "./client/options.ts"
export type { MicrophoneProblem, Notice, Place, VoiceAgentState } from "./client/state.ts"
export type { VoiceAgentElement, VoiceAgentElementEventMap } from "./element/element-api.ts"
export type { Rating } from "./extras/rating.ts"
export type { Turn } from "./screens/transcript.ts"
export type { OwnSdk as VendorModule } from "./vendors/own.ts"
export type { Caller as VendorCaller, VendorCall, VendorCredential } from "./vendors/vendor.ts"
export type { Text } from "./words/fill.ts"
export type { StringKey, Strings } from "./words/strings.ts"
export { defaultStrings } from "./words/strings.ts"

// Server-side rendering imports this too, without custom elements.
if ("customElements" in globalThis) defineVoiceAgent()
