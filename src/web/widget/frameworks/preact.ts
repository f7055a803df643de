/** For Preact: defines `<voice-agent>`, and declares it for JSX. */
import type { ClassAttributes, HTMLAttributes } from "preact"
import type { VoiceAgentElement } from "../element/element-api.ts"
import "../index.ts"
import type { VoiceAgentAttributes, VoiceAgentListeners, VoiceAgentProperties } from "./attributes.ts"

/** The props of `<voice-agent>`. */
export interface VoiceAgentProps
  extends Omit<HTMLAttributes<VoiceAgentElement>, "onmessage">,
    ClassAttributes<VoiceAgentElement>,
    VoiceAgentAttributes,
    VoiceAgentProperties,
    VoiceAgentListeners {}

declare module "preact" {
  namespace JSX {
    interface IntrinsicElements {
      "voice-agent": VoiceAgentProps
    }
  }
}
