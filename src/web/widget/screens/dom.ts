/** Creates elements without HTML strings, which a page's Trusted Types may forbid. */

type Attributes = Readonly<Record<string, string | number | boolean>>

/** Creates an element with attributes (`false` is none) and children; strings become text. */
export const h = (tag: string, attributes: Attributes = {}, ...children: ReadonlyArray<Node | string>): HTMLElement => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, `${value}`)
  }
  element.append(...children)
  return element
}

/** Sets an element's text if it differs, and hides the element if the text is empty. */
export const setText = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text
  element.hidden = text === ""
}

/** Whether an element is shown, in a tab in front. */
export const isShown = (element: Element): boolean => element.getClientRects().length > 0 && !document.hidden
