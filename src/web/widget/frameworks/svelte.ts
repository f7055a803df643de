/** For Svelte 5: defines `<voice-agent>`, and declares it for templates. */
import type { HTMLAttributes } from "svelte/elements"
import type { VoiceAgentElement } from "../element/element-api.ts"
import "../index.ts"
import type { VoiceAgentAttributes, VoiceAgentListeners, VoiceAgentProperties } from "./attributes.ts"

/** The attributes of `<voice-agent>`. */
export interface VoiceAgentProps
  extends Omit<HTMLAttributes<VoiceAgentElement>, "onmessage">,
    VoiceAgentAttributes,
    VoiceAgentProperties,
    VoiceAgentListeners {}

declare module "svelte/elements" {
  interface SvelteHTMLElements {
    "voice-agent": VoiceAgentProps
  }
}
