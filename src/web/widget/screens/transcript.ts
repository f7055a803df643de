/** What both sides of a call say, as a list that outlives the screen that shows it. Untrusted content is only set as text. */

import type { Say } from "../words/strings.ts"
import { h } from "./dom.ts"

/** An address of the web in a text, without the signs of the sentence round it. */
const ADDRESS = /(https?:\/\/[^\s<>"“”«»]*[^\s<>"“”«».,;:!?)\]}'’])/

/** A text whose addresses can be followed; nothing else of it means anything. */
const linked = (text: string): ReadonlyArray<Node | string> =>
  text
    .split(ADDRESS)
    .map((part, index) =>
      index % 2 === 1 && URL.canParse(part)
        ? h("a", { href: part, target: "_blank", rel: "noopener noreferrer" }, part)
        : part,
    )

export type Role = "agent" | "caller"

/** One side's words, as the platform sends them or the caller writes them. */
export interface Turn {
  readonly role: Role
  readonly text: string
}

export interface Transcript {
  /** hidden while nothing was said */
  readonly element: HTMLElement
  readonly add: (turn: Turn) => void
  /** Names the speakers again, as after a change of language. */
  readonly translate: () => void
  /** From now on new turns of the agent are announced: to a caller who writes, they are answers to read. */
  readonly announce: () => void
  /** Hides what does not fit as a whole above the last message, unless somebody has scrolled back: no message is cut through. */
  readonly trim: () => void
  /** All of it as plain text, a line a turn. */
  readonly asText: () => string
  readonly isEmpty: () => boolean
}

/** Maximum turns of a call that stay on the page. */
const MAX_TURNS = 200

/** @param agent the agent’s name; empty if it has none */
export const createTranscript = (say: Say, agent: () => string): Transcript => {
  const list = h("ol")
  const element = h(
    "div",
    { class: "messages", part: "messages", tabindex: 0, role: "log", "aria-live": "off", hidden: true },
    list,
  )
  let turns: ReadonlyArray<Turn> = []
  const name = (role: Role): string => (role === "agent" ? agent() || say("in-call.agent") : say("in-call.you"))
  const trim = (): void => {
    // it fades in the first pixels; one who has scrolled back sees all
    const top = element.scrollTop < 0 ? -Infinity : element.getBoundingClientRect().top + 7
    for (const each of list.children)
      each.classList.toggle("cut", each !== list.lastChild && each.getBoundingClientRect().top < top)
  }
  element.onscroll = trim
  return {
    element,
    trim,
    add: (turn) => {
      turns = [...turns, turn].slice(-MAX_TURNS)
      element.hidden = false
      const { scrollHeight } = element
      const speaker = h("span", { class: "speaker" }, name(turn.role))
      list.append(h("li", { class: turn.role }, speaker, h("p", { dir: "auto" }, ...linked(turn.text))))
      // It is scrolled from its end. A visitor who has scrolled back to read stays there.
      if (element.scrollTop < 0) element.scrollTop -= element.scrollHeight - scrollHeight
      while (list.children.length > MAX_TURNS) list.firstElementChild?.remove()
      trim()
    },
    translate: () => {
      // the list has the same turns
      for (const [i, speaker] of [...list.querySelectorAll(".speaker")].entries())
        speaker.textContent = name(turns[i]?.role ?? "agent")
    },
    announce: () => {
      element.ariaLive = "polite"
    },
    asText: () => turns.map(({ role, text }) => `${name(role)}: ${text}`).join("\n"),
    isEmpty: () => turns.length === 0,
  }
}
