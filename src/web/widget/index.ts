/** The widget. Importing it defines `<voice-agent>`; `createVoiceAgent` is the headless client. */
import { defineVoiceAgent } from "./element.ts"

export type { VoiceAgent, VoiceAgentEvents } from "./client.ts"
export { createVoiceAgent } from "./client.ts"
export type { VoiceAgentElement, VoiceAgentElementEventMap } from "./element-api.ts"
export type { Text } from "./fill.ts"
export type { AudioFormat } from "./format.ts"
export type { VoiceAgentOptions, WantedFormat } from "./options.ts"
export type { Rating } from "./rating.ts"
export type { MicrophoneProblem, Notice, Place, VoiceAgentState } from "./state.ts"
export type { StringKey, Strings } from "./strings.ts"
export { defaultStrings } from "./strings.ts"
export type { Turn } from "./transcript.ts"
export type { OwnSdk as VendorModule } from "./vendors/own.ts"
export type { Caller as VendorCaller, VendorCall, VendorCredential } from "./vendors/vendor.ts"

// Server-side rendering imports this too, without custom elements.
if ("customElements" in globalThis) defineVoiceAgent()
