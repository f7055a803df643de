/** Announces what happened, to screen readers and to the eye. The live region exists from the start, or screen readers ignore it. */

let timer: number | undefined

const put = (text: string, isUnseen: boolean, millis: number | undefined): void => {
  const region = document.querySelector("#said")
  if (region === null) return
  clearTimeout(timer)
  region.classList.toggle("unseen", isUnseen)
  // Otherwise the same text twice would be no change, and not announced.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
  if (millis !== undefined) timer = window.setTimeout(() => region.replaceChildren(), millis)
}

/** @param millis how long the text stays; until the next text if absent */
export const announce = (text: string, millis?: number): void => put(text, false, millis)

/** Announces to screen readers what the page shows by itself. */
export const announceUnseen = (text: string): void => put(text, true, undefined)
