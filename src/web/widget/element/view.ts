/**
 * Shows a visit in a shadow root: one screen at a time, and the announcements for screen readers. Countdowns, the call's timer and the
 * levels are redrawn continuously and never announced.
 */

import type { ScreensPart } from "../client/load.ts"
import type { VoiceAgentState } from "../client/state.ts"
import type { CheckScreen } from "../screens/check-screen.ts"
import { h } from "../screens/dom.ts"
import { announceFirst, createFirstScreen } from "../screens/first-screens.ts"
import { type Level, lookOf, type Screen, type Tools } from "../screens/parts.ts"
import type { Screens } from "../screens/screens.ts"
import type { Turn } from "../screens/transcript.ts"
import floating from "./dock.css?inline"
import { createDock, type DockTools } from "./dock.ts"
import css from "./style.css?inline"

export interface ViewTools {
  /** the accent that the page has set by an attribute; empty if none */
  readonly accent: () => string
  /** Loads what a visit needs, if that is possible now. */
  readonly ready: () => Promise<unknown>
}

export interface View {
  /**
   * Takes the screens of a visit, which are shown after it: others than before where the page has switched something on meanwhile.
   */
  readonly use: (part: ScreensPart) => void
  /** In the page, or floating: opened or closed. */
  readonly place: (floating: boolean, open: boolean) => void
  readonly show: (state: VoiceAgentState) => void
  /** Shows the check of the microphone instead of the current screen, until the state changes; or shows that screen again. */
  readonly check: (on: boolean) => void
  /** Recreates the screen, as after a change of language. */
  readonly redraw: () => void
  readonly turn: (turn: Turn) => void
  readonly level: (level: Level) => void
  /** Stops the timer. */
  readonly close: () => void
}

/** How often times are redrawn, in milliseconds. */
const TICK = 250
/** How long a screen takes to give way to the next, as in the style, in milliseconds. */
const FADE = 160

/** A constructed style sheet, which content security policies without inline styles allow. */
const sheetOf = (style: string): CSSStyleSheet => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style)
  return sheet
}

const announce = (region: HTMLElement, text: string): void => {
  if (region.textContent !== text) region.textContent = text
}

export const createView = (root: ShadowRoot, tools: Tools & DockTools & ViewTools): View => {
  const content = h("div", { class: "screen" })
  const panel = h("section", { class: "panel", part: "panel" }, content)
  const status = h("p", { role: "status", class: "unseen" })
  // announced at once, whatever is being read
  const alert = h("p", { role: "alert", class: "unseen" })
  root.adoptedStyleSheets = [sheetOf(css + floating)]
  const dock = createDock(panel, root, tools)
  root.replaceChildren(dock.element, status, alert)
  let state: VoiceAgentState = { name: "idle", notice: undefined }
  let part: ScreensPart | undefined
  let screens: Screens | undefined
  let screen: Screen | undefined
  /** shown instead of the screen of the state `shown` */
  let checking: CheckScreen | undefined
  let shown: VoiceAgentState["name"] | undefined
  /** the state that was announced last */
  let announced: VoiceAgentState = state
  const still = matchMedia("(prefers-reduced-motion: reduce)")

  const tick = (): void => {
    const now = Date.now()
    screen?.tick(state, now)
    dock.tick(state, now)
  }

  const fill = (next: Screen, fades = true): void => {
    // Keeps keyboard focus in the widget instead of at the top of the page.
    const hadFocus = root.activeElement !== null
    panel.ariaLabel = lookOf(tools).name || tools.say("label")
    dock.look(lookOf(tools).avatar, tools.accent())
    const { offsetHeight, scrollTop } = content
    const old = h("div", { class: "screen old", inert: true }, ...content.childNodes)
    old.style.blockSize = `${offsetHeight}px`
    content.replaceChildren(...next.nodes)
    // a new screen is read from its top; one in another language goes on where it was
    if (fades) content.scrollTop = 0
    // The old screen fades where it was, while the new one appears; nothing of either moves.
    if (fades && old.hasChildNodes() && !still.matches) {
      content.after(old)
      old.scrollTop = scrollTop
      window.setTimeout(() => old.remove(), FADE)
    }
    if (hadFocus) content.querySelector<HTMLElement>("h2")?.focus()
    tools.localize(content, [dock.element, panel, status, alert])
  }

  const rowsOf = async (offers: unknown): Promise<HTMLElement | undefined> => {
    await tools.ready()
    return screens?.offers?.(offers)
  }

  const check = (on: boolean): void => {
    if (on === (checking !== undefined)) return
    checking?.close()
    checking = on ? screens?.check() : undefined
    const next = checking ?? screen
    if (next !== undefined) fill(next)
  }

  const draw = (): void => {
    if (shown !== state.name || screen === undefined) {
      const next = screens?.create(state.name) ?? createFirstScreen(state.name, tools, rowsOf)
      // All other states are shown only after `use`.
      if (next === undefined) return
      const isNew = shown !== state.name
      // a check goes on when only the language has changed
      if (isNew) {
        checking?.close()
        checking = undefined
      }
      shown = state.name
      screen = next
      fill(checking ?? screen, isNew)
    }
    screen.update(state)
    tick()
    const announcement = screens?.announcement(state, announced) ?? announceFirst(state, tools)
    announced = state
    if (announcement === undefined) return
    const urgent = state.name === "your-turn"
    announce(status, urgent ? "" : announcement)
    announce(alert, urgent ? announcement : "")
  }

  const ticking = window.setInterval(tick, TICK)
  return {
    use: (loaded) => {
      // a visit goes on with the screens that it began with
      if (loaded === part || /waiting|turn|call/.test(state.name)) return
      part = loaded
      screens = part.createScreens(tools)
      root.adoptedStyleSheets.push(sheetOf(screens.css))
    },
    show: (next) => {
      if (next.name === "connecting" && state.name !== "connecting") screens?.reset()
      state = next
      draw()
      screens?.attention?.show(state)
    },
    redraw: () => {
      screen = undefined
      // what was announced may be in another language
      status.textContent = ""
      draw()
    },
    turn: (turn) => screens?.turn(turn),
    level: (level) => {
      // a closed panel costs nothing
      if (!panel.hidden) screen?.level?.(level)
    },
    place: (floating, open) => {
      dock.place(floating, open)
      if (!panel.hidden) return
      check(false)
      screen?.level?.({ said: 0, heard: 0 })
    },
    check,
    close: () => {
      checking?.close()
      screens?.attention?.close()
      window.clearInterval(ticking)
      dock.close()
    },
  }
}
