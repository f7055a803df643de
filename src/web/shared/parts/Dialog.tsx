/**
 * A modal dialog. The browser keeps focus inside and restores it afterwards. Escape closes it, unless its content must not get
 * lost. It is open before the layout effects of its content, so that a form in it can set the focus before a key is pressed.
 */
import type { ComponentChildren, JSX } from "preact"
import { useCallback, useId } from "preact/hooks"

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
  const heading = useId()
  const modal = useCallback((dialog: HTMLDialogElement | null) => {
    dialog?.showModal()
    // Closed before it is removed, because removing alone does not restore focus.
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={modal}
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
