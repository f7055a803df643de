/**
 * Push to talk: the microphone is on while the button is held, by pointer or by Space, also with the focus elsewhere in the widget
 * where Space means nothing else. An assistive technology that can only click switches it on and off.
 */
import { h } from "./dom.ts"
import { microphoneIcon } from "./icons.ts"
import type { Tools } from "./parts.ts"

/** Elements on which Space has a meaning of its own. */
const USES_SPACE = "button, input, select, textarea, a, summary, [contenteditable]"

export const createTalkButton = ({ mute, say }: Tools): HTMLElement => {
  const button = h(
    "button",
    { type: "button", class: "talk", part: "button talk" },
    microphoneIcon(),
    say("in-call.hold"),
  )
  const listening = new AbortController()
  let holding = false
  const hold = (on: boolean): void => {
    if (holding === on) return
    holding = on
    mute(!on)
  }
  const release = (): void => hold(false)

  button.addEventListener("pointerdown", ({ button: which, pointerId }) => {
    if (which !== 0) return
    button.setPointerCapture(pointerId)
    hold(true)
  })
  for (const end of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) button.addEventListener(end, release)
  // a long press on a phone must not open a menu
  button.addEventListener("contextmenu", (event) => event.preventDefault())
  button.addEventListener("click", ({ detail }) => {
    // neither a pointer nor a key
    if (detail === 0) hold(!holding)
  })

  const onKey = (event: KeyboardEvent): void => {
    if (!button.isConnected) {
      // replaced with its screen
      release()
      listening.abort()
      return
    }
    const [target] = event.composedPath()
    if (event.key !== " " || !(target instanceof Element) || target.getRootNode() !== button.getRootNode()) return
    if (target !== button && target.closest(USES_SPACE) !== null) return
    // neither a click of the button nor a scroll of the page
    event.preventDefault()
    hold(event.type === "keydown")
  }
  for (const type of ["keydown", "keyup"] as const) document.addEventListener(type, onKey, { signal: listening.signal })
  window.addEventListener("blur", release, { signal: listening.signal })
  return button
}
