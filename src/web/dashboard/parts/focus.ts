/** Keeps the keyboard's place: when what had the focus is gone, it goes on at the page's heading and not at the top. */

export const focusHeading = (): void => document.querySelector<HTMLElement>("main h1")?.focus()

/** A button that did its work may be gone with it, such as the one that revoked a key. */
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
