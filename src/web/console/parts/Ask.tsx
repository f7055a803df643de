/** Asks before an action: for confirmation, or when a pause ends. */

import type { JSX } from "preact"
import type { Action } from "../../../fifo-queue/operator/actions.ts"
import { type ActionButton, pauseUntil } from "../../../operator/action-words.ts"
import { Confirm } from "./Confirm.tsx"
import { PauseDialog } from "./PauseDialog.tsx"

export const Ask = ({
  button: { action, question },
  onAnswer,
}: {
  readonly button: ActionButton
  /** with no action when the answer is no */
  readonly onAnswer: (action?: Action) => void
}): JSX.Element =>
  action.type === "pause" ? (
    <PauseDialog
      question={question}
      until={action.until}
      onCancel={() => onAnswer()}
      onPause={(until) => onAnswer(pauseUntil(until))}
    />
  ) : (
    <Confirm question={question} onAnswer={(confirmed) => onAnswer(confirmed ? action : undefined)} />
  )
