/** Asks for confirmation before an action. Cancel comes first, so it has the focus. */
import type { JSX } from "preact"
import type { Question } from "../../../operator/action-words.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"

export const Confirm = ({
  question: { confirm, danger = false, text, title },
  campaign,
  onAnswer,
}: {
  readonly question: Question
  /** the one that the action is about, where it is to be named */
  readonly campaign?: string | undefined
  readonly onAnswer: (confirmed: boolean) => void
}): JSX.Element => (
  <Dialog title={title} onClose={() => onAnswer(false)}>
    {campaign !== undefined && <OfCampaign name={campaign} />}
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

/** Which campaign an action is about: an operator may have another one in mind. */
export const OfCampaign = ({ name }: { readonly name: string }): JSX.Element => (
  <p class="of-campaign">
    Campaign <strong>{name}</strong>
  </p>
)
