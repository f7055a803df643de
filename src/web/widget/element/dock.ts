/**
 * The floating form: a launcher in a corner of the window that opens the panel above the page. It is in the browser's top layer, so that
 * nothing of the page covers, cuts or moves it, and it takes no room in the page. While the panel is closed the launcher shows where
 * the visit stands.
 */

import type { VoiceAgentState } from "../client/state.ts"
import { h, setText } from "../screens/dom.ts"
import { downIcon, phoneIcon } from "../screens/icons.ts"
import { createOrb, showPicture } from "../screens/orb.ts"
import { clock, ended } from "../words/first-words.ts"
import type { Say } from "../words/strings.ts"

export interface DockTools {
  readonly say: Say
  /** Called when the visitor opens or closes the panel. */
  readonly open: (open: boolean) => void
}

export interface Dock {
  readonly element: HTMLElement
  /** In the page, or floating: opened or closed. */
  readonly place: (floating: boolean, open: boolean) => void
  /** Shows the agent's picture, at its address, and the accent of the page's attribute; empty texts are none. */
  readonly look: (picture: string, accent: string) => void
  /** Shows on the launcher where the visit stands. */
  readonly tick: (state: VoiceAgentState, now: number) => void
  readonly close: () => void
}

/** @param root the widget's, in which the dock is */
export const createDock = (panel: HTMLElement, root: ShadowRoot, { open, say }: DockTools): Dock => {
  const label = h("span", { class: "label" })
  // the slot of a picture is in the panel, and the page's style of an orb is of that one
  const mark = createOrb("mark", "", h("span"))
  mark.part.value = ""
  const launcher = h(
    "button",
    { type: "button", class: "launcher", part: "launcher", "aria-haspopup": "dialog", hidden: true },
    mark,
    phoneIcon(),
    label,
  )
  const minimize = h("button", { type: "button", class: "minimize", part: "minimize", hidden: true }, downIcon())
  const element = h("div", { class: "dock" }, launcher, panel)
  panel.append(minimize)
  const page = new AbortController()
  let [floating, opened] = [false, false]
  /** what had the focus before the panel was opened, outside the widget */
  let opener: HTMLElement | undefined

  launcher.addEventListener("click", () => open(true))
  minimize.addEventListener("click", () => open(false))
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || !floating || !opened) return
    event.preventDefault()
    event.stopPropagation()
    open(false)
  })

  /** A keyboard on the screen covers the bottom of the window without changing its height. */
  const resize = (): void => {
    const { visualViewport } = window
    // A visitor who zooms in wants to see the panel larger, not to have it fit.
    if (visualViewport === null || visualViewport.scale > 1.01) return
    const { height, offsetTop } = visualViewport
    element.style.setProperty("--visible", `${height}px`)
    element.style.setProperty("--covered", `${Math.max(0, window.innerHeight - height - offsetTop)}px`)
  }
  for (const change of ["resize", "scroll"]) {
    window.visualViewport?.addEventListener(change, () => opened && resize(), { signal: page.signal })
  }

  const raise = (): void => {
    if (!("showPopover" in element)) return
    element.popover = floating ? "manual" : null
    if (floating && element.isConnected && !element.matches(":popover-open")) element.showPopover()
  }

  /** When the panel opens, moves the focus to its heading; when it closes, back to where the focus was before. */
  const moveFocus = (hadFocus: boolean): void => {
    if (opened) {
      const active = document.activeElement
      const isOther = active instanceof HTMLElement && active !== document.body && active !== root.host
      opener = isOther ? active : undefined
      panel.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true })
    } else if (hadFocus) {
      const target = opener?.isConnected ? opener : launcher
      opener = undefined
      target.focus({ preventScroll: true })
    }
  }

  const hasFocus = (): boolean => root.activeElement !== null || root.host.contains(document.activeElement)

  const labelOf = (state: VoiceAgentState, now: number): string => {
    if (state.name === "ended") return ended(state, say)[0]
    const n = state.name === "waiting" ? state.place.position : 0
    const time = state.name === "in-call" ? clock(now - state.since) : ""
    return say([`floating.${state.name}`, `${state.name}.title`, `${state.name}.gate`, "idle.title"], { n, time })
  }

  return {
    element,
    place: (nowFloating, nowOpen) => {
      const hadFocus = hasFocus()
      const changed = floating && nowFloating && opened !== nowOpen
      floating = nowFloating
      opened = nowOpen
      raise()
      if (opened) resize()
      launcher.hidden = !floating || opened
      minimize.hidden = !floating || !opened
      panel.hidden = floating && !opened
      minimize.title = minimize.ariaLabel = say("floating.minimize")
      panel.role = floating ? "dialog" : null
      if (changed) moveFocus(hadFocus)
    },
    look: (picture, accent) => {
      showPicture(mark, picture)
      element.style.setProperty("--voice-agent-accent", accent)
    },
    tick: (state, now) => {
      launcher.className = `launcher ${state.name}`
      setText(label, labelOf(state, now))
    },
    close: () => page.abort(),
  }
}
