/**
 * Asks for confirmation of an irreversible action. Cancel has the focus, because the Enter that chose the action in a menu may still be
 * down.
 */
import type { ComponentChildren, JSX } from "preact"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import type { Call } from "../client.ts"
import { useAction } from "./action.ts"
import { Problem } from "./Problem.tsx"

export const Confirm = <A,>({
  title,
  action,
  doing,
  request,
  onDone,
  onClose,
  children,
}: {
  readonly title: string
  /** the button's label, and its label while in progress */
  readonly action: string
  readonly doing: string
  readonly request: () => Call<A>
  readonly onDone: (value: A) => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}): JSX.Element => {
  const { busy, failure, run } = useAction()
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Problem of={failure} />
      <div class="actions">
        <button type="button" class="danger" aria-disabled={busy} onClick={() => void run(request(), onDone)}>
          {busy ? doing : action}
        </button>
        {/* biome-ignore lint/a11y/noAutofocus: it is in a dialog */}
        <button type="button" autoFocus onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
