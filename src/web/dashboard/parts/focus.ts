/** Moves focus to the page's heading when the focused element is removed, instead of to the top of the page. */

export const focusHeading = (): void => document.querySelector<HTMLElement>("main h1")?.focus()

/** Watches for removed elements, such as the button that revoked a key. */
export const watchFocus = (): void => {
  let last: Element | null = null
  document.addEventListener("focusin", ({ target }) => {
    last = target instanceof Element ? target : null
  })
  new MutationObserver(() => {
    if (last === null || last.isConnected || document.activeElement !== document.body) return
    last = null
    focusHeading()
  }).observe(document.body, { childList: true, subtree: true })
}
