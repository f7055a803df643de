/** What the widget's screens are made of. Untrusted content is only set as text. */

import type { Offer, VoiceAgentState } from "../client/state.ts"
import type { Say } from "../words/strings.ts"
import { h } from "./dom.ts"

export type Action = "begin" | "start" | "leave" | "mute" | "retry" | "notify"

/** One screen: elements that are created when its state is entered, and updated with the state and the time. */
export interface Screen {
  readonly nodes: ReadonlyArray<Node>
  /** Updates the elements for a new state of the same name. */
  readonly update: (state: VoiceAgentState) => void
  readonly tick: (state: VoiceAgentState, now: number) => void
  readonly level?: (level: Level) => void
}

/** Loudness of the captured and of the played audio, 0 to 1. */
export interface Level {
  readonly said: number
  readonly heard: number
}

export interface Tools {
  readonly say: Say
  readonly language: () => string
  /** Names the language of what is shown and announced, and adds the choice of languages to the screen. */
  readonly localize: (screen: HTMLElement, shown: ReadonlyArray<HTMLElement>) => void
  readonly act: (action: Action) => void
  /** whether the permission for notifications can be requested or is granted */
  readonly notifying: () => "ask" | "yes" | "no"
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
  /** False if it cannot be sent now. */
  readonly send: (text: string) => boolean
}

export interface Parts {
  readonly title: (text?: string) => HTMLElement
  readonly text: (content?: string, kind?: string) => HTMLElement
  readonly button: (key: string, action: Action | (() => void), kind?: string) => HTMLElement
  readonly actions: (...buttons: ReadonlyArray<HTMLElement>) => HTMLElement
}

export const nothing = (): void => {}

export const partsOf = ({ act, say }: Tools): Parts => ({
  title: (text = "") => h("h2", { tabindex: -1, part: "title" }, text),
  text: (content = "", kind = "text") => h("p", { class: kind }, content),
  button: (key, action, kind = "") => {
    const element = h("button", { type: "button", class: kind, part: `button ${kind}`.trim() }, say(key))
    element.addEventListener("click", () => {
      if (element.ariaDisabled === "true") return
      if (typeof action === "string") act(action)
      else action()
    })
    return element
  },
  actions: (...buttons) => h("div", { class: "actions" }, ...buttons),
})
