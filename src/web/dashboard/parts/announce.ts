/** Announces a message to screen readers, in a live region that exists from the start, because later ones may be ignored. */
export const announce = (text: string): void => {
  const region = document.querySelector("#said")
  if (region === null) return
  // Otherwise repeating the same message would be no change.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text
}
