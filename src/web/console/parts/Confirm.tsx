/** Asks for confirmation before an action. Cancel comes first, so it has the focus. */
import type { JSX } from "preact"
import type { Question } from "../../../operator/action-words.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"

export const Confirm = ({
  question: { confirm, danger = false, text, title },
  onAnswer,
}: {
  readonly question: Question
  readonly onAnswer: (confirmed: boolean) => void
}): JSX.Element => (
  <Dialog title={title} onClose={() => onAnswer(false)}>
    <p>{text}</p>
    <div class="actions">
      <button type="button" onClick={() => onAnswer(false)}>
        Cancel
      </button>
      <button type="button" class={danger ? "danger" : "primary"} onClick={() => onAnswer(true)}>
        {confirm}
      </button>
    </div>
  </Dialog>
)
