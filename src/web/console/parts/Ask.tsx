/** Asks before an action. The answer that does nothing comes first, and so has the focus. */
import type { JSX } from "preact"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import type { Question } from "../words.ts"

const DANGER = ["Remove", "End lease"]

export const Ask = ({
  question: { confirm, text, title },
  onAnswer,
}: {
  readonly question: Question
  readonly onAnswer: (yes: boolean) => void
}): JSX.Element => (
  <Dialog title={title} onClose={() => onAnswer(false)}>
    <p>{text}</p>
    <div class="actions">
      <button type="button" onClick={() => onAnswer(false)}>
        Cancel
      </button>
      <button type="button" class={DANGER.includes(confirm) ? "danger" : "primary"} onClick={() => onAnswer(true)}>
        {confirm}
      </button>
    </div>
  </Dialog>
)
