/** The widget: importing it makes `<voice-agent>` known; `createVoiceAgent` is the same without a face. */
import { defineVoiceAgent } from "./element.ts"

export type { VoiceAgent, VoiceAgentEvents } from "./client.ts"
export { createVoiceAgent } from "./client.ts"
export type { VoiceAgentElement } from "./element.ts"
export type { AudioFormat } from "./format.ts"
export type { VoiceAgentOptions, WantedFormat } from "./options.ts"
export type { MicrophoneProblem, Notice, Place, VoiceAgentState } from "./state.ts"
export type { StringKey, Strings, Text } from "./strings.ts"
export { defaultStrings } from "./strings.ts"

// A server that renders pages imports this too, and has no elements.
if ("customElements" in globalThis) defineVoiceAgent()
