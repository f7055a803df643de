/** Small means to change the page. Everything from outside is set as text; what did not change is not touched. */

export const find = <E extends HTMLElement = HTMLElement>(selector: string): E => {
  const element = document.querySelector<E>(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

export const setText = (element: Element, value: string): void => {
  if (element.textContent !== value) element.textContent = value
}

/** Sets what is marked with `data-text`. */
export const say = (name: string, value: string): void => setText(find(`[data-text="${name}"]`), value)

/** The same, hidden while there is nothing to say. */
export const sayOrHide = (name: string, value: string): void => {
  say(name, value)
  find(`[data-text="${name}"]`).hidden = value === ""
}

export const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag)
  if (text !== "") element.textContent = text
  if (className !== "") element.className = className
  return element
}

/** A word with a dot before it, which is never the only sign. */
export const setMark = (element: HTMLElement, mark: "good" | "bad" | "soon" | "none", text: string): void => {
  element.classList.add("mark")
  if (element.dataset.mark !== mark) element.dataset.mark = mark
  setText(element, text)
}
