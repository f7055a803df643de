/** Keeps the keyboard's place: when what had the focus is gone, it goes on beside it and not at the top of the page. */

export const focusHeading = (): void => document.querySelector<HTMLElement>("main h1")?.focus()

/**
 * A button that did its work may be gone with it, such as the one that revoked a key. What was in a part of the page that is scrolled goes
 * on there, all else at the page's heading.
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
