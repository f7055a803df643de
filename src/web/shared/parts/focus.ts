/** Keeps the keyboard's position: when the focused element is removed, focus moves to what is near it, not to the top of the page. */

export const focusHeading = (): void => document.querySelector<HTMLElement>("main h1")?.focus()

/**
 * Watches for removed elements, such as the button that revoked a key. Focus moves to the scrolled part of the page that contained the
 * element, else to the page's heading.
 */
export const watchFocus = (): void => {
  let last: Element | null = null
  let around: HTMLElement | null = null
  document.addEventListener("focusin", ({ target }) => {
    last = target instanceof Element ? target : null
    around = last === null ? null : last.closest<HTMLElement>(".scroll")
  })
  new MutationObserver(() => {
    if (last === null || last.isConnected || document.activeElement !== document.body) return
    last = null
    if (around?.isConnected === true) around.focus()
    else focusHeading()
  }).observe(document.body, { childList: true, subtree: true })
}
