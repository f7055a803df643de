/** Announces what happened, visibly and to screen readers. The live region exists from the start, or screen readers ignore it. */

let timer: number | undefined

/** @param millis how long the text stays; until the next text if absent */
export const announce = (text: string, millis?: number): void => {
  const region = document.querySelector("#said")
  if (region === null) return
  clearTimeout(timer)
  // Otherwise the same text twice would be no change, and not announced.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
  if (millis !== undefined) timer = window.setTimeout(() => region.replaceChildren(), millis)
}
