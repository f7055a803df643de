/** The state of the campaign, and the actions on it. */
import type { JSX } from "preact"
import { type ActionButton, campaignButtons, changeEnd } from "../../../operator/action-words.ts"
import type { Hours, Queue } from "../../../operator/shapes.ts"
import { chosenTime, stateOf } from "../words.ts"

export const State = ({
  queue,
  hours,
  now,
  onAct,
}: {
  /** undefined before it is known */
  readonly queue: Queue | undefined
  /** undefined for a campaign that is always open */
  readonly hours: Hours | undefined
  readonly now: number
  readonly onAct: (button: ActionButton) => void
}): JSX.Element => {
  const state = queue === undefined ? { limited: false, title: "Console", meaning: "" } : stateOf(queue, now, hours)
  const change = queue?.paused === true ? changeEnd(queue.pausedUntil) : undefined
  return (
    <section class="state" aria-labelledby="state" data-state={state.limited ? "limited" : "open"}>
      <div>
        <h1 id="state" tabIndex={-1}>
          {state.title}
        </h1>
        <p class="soft">
          {state.meaning}
          {hours?.closesAt !== undefined && ` Open until ${chosenTime(hours.closesAt)}.`}
        </p>
      </div>
      <div class="actions">
        {change !== undefined && (
          <button key="end" type="button" onClick={() => onAct(change)}>
            {change.label}
          </button>
        )}
        {Object.entries(campaignButtons(queue)).map(([name, button]) => (
          // the key keeps a switch the same element when its action changes
          <button key={name} type="button" class={button.primary ? "primary" : undefined} onClick={() => onAct(button)}>
            {button.label}
          </button>
        ))}
      </div>
    </section>
  )
}
