/**
 * For Vue: defines `<voice-agent>`, and declares it for templates. Tell the compiler that it is an element:
 * `isCustomElement: (tag) => tag === "voice-agent"`.
 */
import type { EmitFn, HTMLAttributes, PublicProps } from "vue"
import type { VoiceAgentElement, VoiceAgentElementEventMap } from "../element/element-api.ts"
import "../index.ts"
import type { VoiceAgentAttributes, VoiceAgentProperties } from "./attributes.ts"

type Emit = EmitFn<{
  statechange: (event: VoiceAgentElementEventMap["statechange"]) => void
  message: (event: VoiceAgentElementEventMap["message"]) => void
  turn: (event: VoiceAgentElementEventMap["turn"]) => void
  rating: (event: VoiceAgentElementEventMap["rating"]) => void
}>

/** The same as properties, for `:onStatechange`, `v-on` with an object, and render functions. */
type Listeners = {
  [Type in "statechange" | "message" | "turn" | "rating" as `on${Capitalize<Type>}`]?:
    | ((event: VoiceAgentElementEventMap[Type]) => void)
    | undefined
}

/** `<voice-agent>` as Vue's compiler sees a component. */
export type VoiceAgentComponent = new () => VoiceAgentElement & {
  /** @deprecated for Vue's compiler only */
  $props: PublicProps & Omit<HTMLAttributes, keyof Listeners> & VoiceAgentAttributes & VoiceAgentProperties & Listeners
  /** @deprecated for Vue's compiler only */
  $emit: Emit
}

declare module "vue" {
  interface GlobalComponents {
    "voice-agent": VoiceAgentComponent
  }
}
