/** Asks before an action: for confirmation, or when a pause ends. */

import type { JSX } from "preact"
import type { Action } from "../../../fifo-queue/operator/actions.ts"
import { type ActionButton, pauseUntil } from "../../../operator/action-words.ts"
import { Confirm } from "./Confirm.tsx"
import { PauseDialog } from "./PauseDialog.tsx"

export const Ask = ({
  button: { action, question },
  campaign,
  onAnswer,
}: {
  readonly button: ActionButton
  /** named where the gate has several campaigns */
  readonly campaign: string | undefined
  /** with no action when the answer is no */
  readonly onAnswer: (action?: Action) => void
}): JSX.Element =>
  action.type === "pause" ? (
    <PauseDialog
      question={question}
      campaign={campaign}
      until={action.until}
      onCancel={() => onAnswer()}
      onPause={(until) => onAnswer(pauseUntil(until))}
    />
  ) : (
    <Confirm
      question={question}
      campaign={campaign}
      onAnswer={(confirmed) => onAnswer(confirmed ? action : undefined)}
    />
  )
