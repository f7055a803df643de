/** Says what happened, to a screen reader and where the page shows it. The region stands in the page from its start, or nobody listens to it. */

let timer: number | undefined

/** @param millis how long it is said; until the next words, if absent */
export const announce = (text: string, millis?: number): void => {
  const region = document.querySelector("#said")
  if (region === null) return
  clearTimeout(timer)
  // The same words twice are otherwise no change.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
  if (millis !== undefined) timer = window.setTimeout(() => region.replaceChildren(), millis)
}
