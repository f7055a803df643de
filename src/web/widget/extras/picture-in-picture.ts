/**
 * Picture-in-picture: a small window above all others that shows the place in the queue, and starts the call when it is the caller's
 * turn. Only some browsers have it.
 */

import type { VoiceAgentState } from "../client/state.ts"
import { h, setText } from "../screens/dom.ts"
import type { Tools } from "../screens/parts.ts"
import { countdown } from "../words/first-words.ts"
import { ahead, estimate } from "../words/visit-words.ts"
import css from "./picture-in-picture.css?inline"

interface DocumentPictureInPicture {
  readonly requestWindow: (size: {
    readonly width: number
    readonly height: number
  }) => Promise<Window & typeof globalThis>
}

declare global {
  interface Window {
    readonly documentPictureInPicture?: DocumentPictureInPicture
  }
}

export interface Float {
  readonly show: (state: VoiceAgentState) => void
  readonly close: () => void
}

const SIZE = { width: 320, height: 220 }
/** How often times are redrawn, in milliseconds. */
const TICK = 500
/** The colours that the window copies from the widget's style. */
const COLOURS = ["accent", "on-accent", "legible", "ground", "ink", "soft"]

/** Whether this page can open such a window: not in a frame. */
export const canFloat = (): boolean => window.documentPictureInPicture !== undefined && window.top === window

/**
 * Opens the window; call it from a tap.
 *
 * @param dock has the widget's colours, language and direction, which may change meanwhile
 * @param closed is called when it is closed, by the visitor or the browser
 */
export const openFloat = async (
  { act, language, say }: Tools,
  dock: HTMLElement,
  closed: () => void,
): Promise<Float | undefined> => {
  const opened = await window.documentPictureInPicture?.requestWindow(SIZE).catch(() => undefined)
  if (opened === undefined) {
    closed()
    return undefined
  }
  const page = opened.document
  const sheet = new opened.CSSStyleSheet()
  sheet.replaceSync(css)
  page.adoptedStyleSheets = [sheet]
  const root = page.documentElement
  const style = getComputedStyle(dock)

  const place = h("p", { class: "place" })
  const title = h("h1", { "aria-live": "polite" })
  const text = h("p", {})
  const start = h("button", { type: "button" })
  start.addEventListener("click", () => {
    act("start")
    // the browser may ask for the microphone in the main window
    window.focus()
  })
  page.body.replaceChildren(h("main", {}, title, place, text, start))

  let state: VoiceAgentState | undefined
  const draw = (): void => {
    const now = Date.now()
    const isTurn = state?.name === "your-turn"
    for (const name of COLOURS) root.style.setProperty(`--${name}`, style.getPropertyValue(`--${name}`))
    root.style.colorScheme = style.colorScheme
    root.lang = dock.lang
    root.dir = style.direction
    page.title = say("label")
    setText(start, say("your-turn.start"))
    setText(title, say(isTurn ? "your-turn.title" : "waiting.title"))
    start.hidden = !isTurn
    if (state?.name === "waiting") {
      setText(place, new Intl.NumberFormat(language()).format(state.place.position))
      setText(text, `${ahead(state.place, say)} ${estimate(state.place, say, language(), now)}`)
    } else if (state?.name === "your-turn") {
      const left = state.startBefore - now
      setText(place, "")
      setText(text, Number.isNaN(left) ? say("your-turn.no-limit") : say("your-turn.text", { time: countdown(left) }))
    }
  }
  // a timer of the hidden page would be slow
  const ticking = opened.setInterval(draw, TICK)
  opened.addEventListener("pagehide", () => {
    opened.clearInterval(ticking)
    closed()
  })
  return {
    show: (next) => {
      state = next
      if (next.name === "waiting" || next.name === "your-turn") draw()
      else opened.close()
    },
    close: () => opened.close(),
  }
}
