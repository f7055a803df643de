/** Makes elements without markup in strings, which a page's Trusted Types would refuse. */

type Attributes = Readonly<Record<string, string | number | boolean>>

/** An element with its attributes (`true` is an empty one, `false` none) and what is in it; strings are text. */
export const h = (tag: string, attributes: Attributes = {}, ...children: ReadonlyArray<Node | string>): HTMLElement => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? "" : String(value))
  }
  element.append(...children)
  return element
}

/** Sets an element's text when it is another one, and hides the element without any. */
export const setText = (element: HTMLElement, text: string): void => {
  if (element.textContent !== text) element.textContent = text
  element.hidden = text === ""
}
