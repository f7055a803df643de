/**
 * A dialog over the page. The browser keeps the focus inside and gives it back to what opened it; Escape closes it,
 * unless it must not get lost.
 */
import type { ComponentChildren, JSX } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"

export const Dialog = ({
  title,
  onClose,
  keep = false,
  children,
}: {
  readonly title: string
  readonly onClose: () => void
  /** Escape does not close it: only its own buttons do. */
  readonly keep?: boolean
  readonly children: ComponentChildren
}): JSX.Element => {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // Closed before it is taken away: a dialog that is only removed gives no focus back.
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      closedby={keep ? "none" : "closerequest"}
      onCancel={(event) => {
        event.preventDefault()
        if (!keep) onClose()
      }}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  )
}
