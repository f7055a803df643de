/**
 * Shows a visit in a shadow root: one screen at a time, and the announcements for screen readers. Countdowns, the call's timer and the
 * meters are redrawn continuously and never announced.
 */
import { h } from "./dom.ts"
import { createScreen, type Screen, type Tools } from "./screens.ts"
import type { VoiceAgentState } from "./state.ts"
import css from "./style.css?inline"
import * as words from "./words.ts"

export interface View {
  readonly show: (state: VoiceAgentState) => void
  /** Recreates the screen, as after a change of language. */
  readonly redraw: () => void
  readonly message: (text: string) => void
  readonly level: (level: { readonly said: number; readonly heard: number }) => void
  /** Stops the timer. */
  readonly close: () => void
}

/** How often times are redrawn, in milliseconds. */
const TICK = 250

let sheet: CSSStyleSheet | undefined
/** A constructed style sheet, which content security policies without inline styles allow. */
const style = (): CSSStyleSheet => {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(css)
  }
  return sheet
}

export const createView = (root: ShadowRoot, tools: Tools): View => {
  const panel = h("section", { class: "panel", part: "panel" })
  const status = h("p", { role: "status", class: "unseen" })
  root.adoptedStyleSheets = [style()]
  root.replaceChildren(panel, status)
  let state: VoiceAgentState = { name: "idle", notice: undefined }
  let screen: Screen | undefined
  let shown: VoiceAgentState["name"] | undefined

  const draw = (): void => {
    if (shown !== state.name || screen === undefined) {
      // Keeps keyboard focus in the widget instead of at the top of the page.
      const hadFocus = root.activeElement !== null
      shown = state.name
      screen = createScreen(state.name, tools)
      panel.ariaLabel = tools.say("label")
      panel.replaceChildren(...screen.nodes)
      if (hadFocus) panel.querySelector<HTMLElement>("h2")?.focus()
    }
    screen.update(state)
    screen.tick(state, Date.now())
    const announcement = words.announcement(state, tools.say)
    if (status.textContent !== announcement) status.textContent = announcement
  }

  const ticking = window.setInterval(() => screen?.tick(state, Date.now()), TICK)
  return {
    show: (next) => {
      state = next
      draw()
    },
    redraw: () => {
      screen = undefined
      draw()
    },
    message: (text) => screen?.message?.(text),
    level: ({ heard, said }) => {
      screen?.said?.(said)
      screen?.heard?.(heard)
    },
    close: () => window.clearInterval(ticking),
  }
}
