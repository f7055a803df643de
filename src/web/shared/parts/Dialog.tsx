/**
 * A modal dialog. The browser keeps focus inside and restores it afterwards. Escape closes it, unless its content must not get
 * lost.
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
  /** only its buttons close it, not Escape */
  readonly keep?: boolean
  readonly children: ComponentChildren
}): JSX.Element => {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    // Closed before it is removed, because removing alone does not restore focus.
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
