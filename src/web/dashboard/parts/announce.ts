/** Tells a screen reader what happened. The region stands in the page from its start, or nobody listens to it. */
export const announce = (text: string): void => {
  const region = document.querySelector("#said")
  if (region === null) return
  // The same words twice are otherwise no change.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
}
