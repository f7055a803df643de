/** What a page sees of `<voice-agent>`, apart from its attributes. */

import type { VoiceAgent } from "../client/client.ts"
import type { VoiceAgentState } from "../client/state.ts"
import type { Rating } from "../extras/rating.ts"
import type { Turn } from "../screens/transcript.ts"
import type { Strings } from "../words/strings.ts"
import type { Described } from "./attributes.ts"

/** The events of a `<voice-agent>`. */
export interface VoiceAgentElementEventMap extends HTMLElementEventMap {
  statechange: CustomEvent<VoiceAgentState>
  /** a text of the agent */
  message: CustomEvent<string>
  /** a text of the agent or of the caller */
  turn: CustomEvent<Turn>
  /** what the visitor thinks of the call, with the attribute `rating` */
  rating: CustomEvent<Rating>
}

type ListenerOf<Type extends keyof VoiceAgentElementEventMap> = (
  this: VoiceAgentElement,
  event: VoiceAgentElementEventMap[Type],
) => unknown

/** The API of a `<voice-agent>`. */
export interface VoiceAgentElement extends Described {
  addEventListener<Type extends keyof VoiceAgentElementEventMap>(
    type: Type,
    listener: ListenerOf<Type>,
    options?: boolean | AddEventListenerOptions,
  ): void
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void
  removeEventListener<Type extends keyof VoiceAgentElementEventMap>(
    type: Type,
    listener: ListenerOf<Type>,
    options?: boolean | EventListenerOptions,
  ): void
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | EventListenerOptions,
  ): void
  /** `begin`, `start`, `leave` and the rest, as of `createVoiceAgent` */
  readonly agent: VoiceAgent
  /** replaces texts of the widget; overrides the attribute */
  strings: Strings
  /** whether the panel of the floating form is open; reflects the attribute */
  open: boolean
}

declare global {
  interface HTMLElementTagNameMap {
    "voice-agent": VoiceAgentElement
  }
}
