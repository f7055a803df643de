/** The buttons of a form in a dialog: one submits it, the other closes the dialog. */

export const DialogActions = ({
  label,
  busyLabel,
  busy,
  onClose,
}: {
  readonly label: string
  /** shown while the form is being sent */
  readonly busyLabel: string
  readonly busy: boolean
  readonly onClose: () => void
}) => (
  <div class="actions">
    <button type="submit" class="primary" aria-disabled={busy}>
      {busy ? busyLabel : label}
    </button>
    <button type="button" onClick={onClose}>
      Cancel
    </button>
  </div>
)
