/** What `<voice-agent>` takes in a framework's template, and the names of its events. */
import type { VoiceAgentElement, VoiceAgentElementEventMap } from "../element/element-api.ts"
import type { Strings } from "../words/strings.ts"

/** The attributes; src/docs/widget.md says what each means. */
export interface VoiceAgentAttributes {
  gate?: string | undefined
  campaign?: string | undefined
  region?: string | undefined
  "client-identifier"?: string | undefined
  "auto-start"?: boolean | undefined
  notify?: boolean | undefined
  ring?: "off" | undefined
  audio?: string | undefined
  theme?: "light" | "dark" | undefined
  "agent-name"?: string | undefined
  heading?: string | undefined
  accent?: string | undefined
  avatar?: string | undefined
  size?: "small" | "medium" | "large" | undefined
  languages?: string | undefined
  worklet?: string | undefined
  mode?: "floating" | undefined
  corner?: `${"bottom" | "top"}-${"right" | "left" | "center"}` | undefined
  launcher?: "pill" | "round" | undefined
  "one-tap"?: boolean | undefined
  "push-to-talk"?: boolean | undefined
  "text-input"?: "on" | "off" | undefined
  captions?: "off" | undefined
  check?: "off" | undefined
  consent?: string | undefined
  "consent-link"?: string | undefined
  "consent-remember"?: boolean | undefined
  rating?: boolean | undefined
  handoff?: boolean | undefined
  "picture-in-picture"?: boolean | undefined
}

/** The properties, which are set on the element. */
export interface VoiceAgentProperties {
  strings?: Strings | undefined
  dynamicVariables?: Readonly<Record<string, string>> | undefined
  metadata?: Readonly<Record<string, string>> | undefined
  identity?: VoiceAgentElement["identity"]
  source?: VoiceAgentElement["source"]
  sdk?: VoiceAgentElement["sdk"]
  open?: boolean | undefined
}

/** Listeners as JSX and Svelte name them: `onstatechange`, `onmessage`, `onturn` and `onrating`. */
export type VoiceAgentListeners = {
  [Type in "statechange" | "message" | "turn" | "rating" as `on${Type}`]?:
    | ((event: VoiceAgentElementEventMap[Type]) => void)
    | undefined
}
