/** The optional choice of a language among those that the page offers (`languages="en de fr"`), each named in itself. */
import { h } from "../screens/dom.ts"
import { match } from "./languages.ts"

/** The choice holds for all pages of the site. */
const KEY = "voicegate.language"

export interface Switcher {
  /** The visitor's choice, if the page offers it. */
  readonly chosen: () => string | undefined
  /** Appends the list to a panel, with the language of this name selected; nothing if the page offers no choice. */
  readonly draw: (panel: Element, name: string, label: string) => void
}

export const createSwitcher = (element: Element, changed: () => void): Switcher => {
  let choice: string | undefined
  try {
    choice = localStorage.getItem(KEY) ?? undefined
  } catch {
    // Storage is disabled: the choice holds for this page only.
  }
  const select = document.createElement("select")
  select.className = "small languages"
  /** whether the list has the focus, which it loses while the panel is redrawn */
  let focused = false
  select.addEventListener("change", () => {
    choice = select.value
    focused = true
    try {
      localStorage.setItem(KEY, choice)
    } catch {
      // as above
    }
    changed()
  })
  const offered = (): ReadonlyArray<string> =>
    (element.getAttribute("languages") ?? "").split(/\s+/).filter((tag) => match(tag) !== undefined)
  return {
    chosen: () => offered().find((tag) => tag === choice),
    draw: (panel, name, label) => {
      select.ariaLabel = label
      select.replaceChildren(
        ...offered().map((tag) => {
          const own = new Intl.DisplayNames(tag, { type: "language" }).of(tag) ?? tag
          return h("option", { value: tag, lang: tag, selected: match(tag)?.name === name }, own)
        }),
      )
      if (select.length > 0) panel.append(select)
      if (focused) select.focus()
      focused = false
    },
  }
}
