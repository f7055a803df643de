/** The buttons of a row. */
import type { JSX } from "preact"
import type { ActionButton } from "../../../operator/action-words.ts"

export const RowActions = ({
  buttons,
  onAct,
}: {
  readonly buttons: ReadonlyArray<ActionButton>
  readonly onAct: (button: ActionButton) => void
}): JSX.Element => (
  <>
    {buttons.map((button) => (
      <button key={button.label} type="button" class="row-action" onClick={() => onAct(button)}>
        {button.label}
        {button.of !== undefined && <span class="unseen"> {button.of}</span>}
      </button>
    ))}
  </>
)
