/**
 * Keyboard shortcuts: single keys, which do nothing while somebody types, while a dialog is open, or with a modifier key. They can be
 * turned off, because speech input may press keys by accident (WCAG 2.2, 2.1.4).
 */
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"

export interface Shortcut {
  /** as in `KeyboardEvent.key` */
  readonly key: string
  /** for the help sheet */
  readonly does: string
  readonly run: () => void
}

const STORED = "voicegate-console-shortcuts"

const readOn = (): boolean => {
  try {
    return localStorage.getItem(STORED) !== "off"
  } catch {
    return true
  }
}

/** Whether the keys other than `?` work. */
export const shortcutsOn = signal(readOn())

export const setShortcutsOn = (on: boolean): void => {
  shortcutsOn.value = on
  try {
    localStorage.setItem(STORED, on ? "on" : "off")
  } catch {
    // it lasts as long as the page
  }
}

const TYPING = "input, textarea, select, [contenteditable]:not([contenteditable='false'])"

const isTyping = (target: EventTarget | null): boolean => target instanceof Element && target.closest(TYPING) !== null

/** The help that `?` opens; works also when the others are off, so that they can be turned on again. */
const HELP_KEY = "?"

export const useShortcuts = (shortcuts: ReadonlyArray<Shortcut>): void => {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const { altKey, ctrlKey, key, metaKey, repeat, target } = event
      if (altKey || ctrlKey || metaKey || repeat || event.defaultPrevented || isTyping(target)) return
      if (document.querySelector("dialog[open]") !== null) return
      const shortcut = shortcuts.find((each) => each.key === key)
      if (shortcut === undefined || (!shortcutsOn.value && key !== HELP_KEY)) return
      event.preventDefault()
      shortcut.run()
    }
    addEventListener("keydown", press)
    return () => removeEventListener("keydown", press)
  })
}
