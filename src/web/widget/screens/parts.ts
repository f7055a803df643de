/** What the widget's screens are made of. Untrusted content is only set as text. */

import type { Offer, VoiceAgentState } from "../client/state.ts"
import type { Fields } from "../gate/json.ts"
import type { AttentionOptions } from "../waiting/attention.ts"
import type { Say } from "../words/strings.ts"
import { h } from "./dom.ts"
import { createOrb } from "./orb.ts"

export type Action = "begin" | "write" | "start" | "leave" | "mute" | "retry"

/** One screen: elements that are created when its state is entered, and updated with the state and the time. */
export interface Screen {
  readonly nodes: ReadonlyArray<Node>
  /** Updates the elements for a new state of the same name. */
  readonly update: (state: VoiceAgentState) => void
  /** Updates them for the time: after each update, and several times a second. */
  readonly tick: (state: VoiceAgentState, now: number) => void
  readonly level?: (level: Level) => void
  /** where the waiting screen has the other ways to wait */
  readonly rows?: HTMLElement
}

/** Loudness of the captured and of the played audio, 0 to 1. */
export interface Level {
  readonly said: number
  readonly heard: number
}

export interface Tools {
  readonly say: Say
  readonly language: () => string
  /** what the page has said of its agent by attributes; absent in a widget that is older than this part */
  readonly agent?: () => AgentLook
  /** Names the language of what is shown and announced, and adds the choice of languages to the screen. */
  readonly localize: (screen: HTMLElement, shown: ReadonlyArray<HTMLElement>) => void
  readonly act: (action: Action) => void
  /** what alerts the caller at the turn; absent in a widget that is older than this part, which does it itself */
  readonly alerts?: AttentionOptions
  /** what the gate says of a visitor who would come now (`gate/availability.ts`) */
  readonly availability: () => Promise<Fields>
  /** whether the microphone is on only while a button is held */
  readonly pushToTalk: () => boolean
  /** whether captions are shown at first */
  readonly captions: () => boolean
  /** whether the visitor may choose a microphone and try it: not where the page replaces it */
  readonly checks: () => boolean
  /** Shows the check of the microphone, or what was there before. */
  readonly check: (on: boolean) => void
  readonly mute: (muted: boolean) => void
  readonly take: (offer: Offer) => void
  /** Takes another microphone in a call; absent in a widget that is older than this part. */
  readonly useMicrophone?: (id: string) => void
  /** False if it cannot be sent now. */
  readonly send: (text: string) => boolean
}

/** How a page wants its agent to look; texts are empty where it has said nothing. */
export interface AgentLook {
  readonly name: string
  /** the title of the first screen */
  readonly heading: string
  /** the address of a picture */
  readonly avatar: string
  /** whether a call may begin in writing, without a microphone */
  readonly writes: boolean
}

const UNKNOWN: AgentLook = { name: "", heading: "", avatar: "", writes: false }

export const lookOf = ({ agent }: Tools): AgentLook => agent?.() ?? UNKNOWN

export interface Parts {
  readonly title: (text?: string) => HTMLElement
  readonly text: (content?: string, kind?: string) => HTMLElement
  /** with an icon before its text, if any */
  readonly button: (key: string, action: Action | (() => void), kind?: string, icon?: SVGElement) => HTMLElement
  readonly actions: (...buttons: ReadonlyArray<HTMLElement>) => HTMLElement
  /** the orb, of a size that the style knows */
  readonly orb: (kind?: string) => HTMLElement
  /** what a screen is about, as a picture above its title */
  readonly picture: (icon: SVGElement, kind?: string) => HTMLElement
}

export const nothing = (): void => {}

export const partsOf = (tools: Tools): Parts => ({
  title: (text = "") => h("h2", { tabindex: -1, part: "title" }, text),
  text: (content = "", kind = "text") => h("p", { class: kind }, content),
  button: (key, action, kind = "", icon) => {
    const { act, say } = tools
    const element = h("button", { type: "button", class: kind, part: `button ${kind}`.trim() }, say(key))
    if (icon !== undefined) element.prepend(icon)
    element.addEventListener("click", () => {
      if (element.ariaDisabled === "true") return
      if (typeof action === "string") act(action)
      else action()
    })
    return element
  },
  actions: (...buttons) => h("div", { class: "actions" }, ...buttons),
  orb: (kind = "") => createOrb(kind, lookOf(tools).avatar),
  picture: (icon, kind = "") => h("span", { class: `picture ${kind}` }, icon),
})
