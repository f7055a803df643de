/** The buttons below the form of a step. */
import type { ComponentChildren, JSX } from "preact"

export const StepActions = ({
  label = "Continue",
  busy,
  busyLabel = "Saving…",
  children,
}: {
  readonly label?: string
  readonly busy: boolean
  readonly busyLabel?: string
  /** further buttons */
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div class="actions">
    <button type="submit" class="primary" aria-disabled={busy}>
      {busy ? busyLabel : label}
    </button>
    {children}
  </div>
)
