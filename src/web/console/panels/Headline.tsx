/** What is wrong, or the state of the campaign; the health in one line; and the actions on the campaign. */
import type { JSX } from "preact"
import { type ActionButton, campaignButtons, changeEnd } from "../../../operator/action-words.ts"
import type { View } from "../../../operator/shapes.ts"
import { failing, healthLine, type QueueView, type Headline as Text } from "../headline.ts"
import { chosenTime } from "../words.ts"

export const Headline = ({
  text: { also, level, meaning, title },
  view,
  queueView,
  onAct,
}: {
  readonly text: Text
  /** undefined before the first answer */
  readonly view: View | undefined
  readonly queueView: QueueView | undefined
  readonly onAct: (button: ActionButton) => void
}): JSX.Element => {
  const queue = queueView?.queue
  const hours = view?.hours
  const change = queue?.paused === true ? changeEnd(queue.pausedUntil) : undefined
  return (
    <section class="state" aria-labelledby="state" data-level={level}>
      <div class="words">
        <h1 id="state" tabIndex={-1}>
          {title}
        </h1>
        <p class="meaning">
          {meaning}
          {also !== "" && ` ${also}`}
          {hours?.closesAt !== undefined && ` Open until ${chosenTime(hours.closesAt)}.`}
        </p>
      </div>
      {queue !== undefined && (
        <div class="actions">
          {change !== undefined && (
            <button key="end" type="button" onClick={() => onAct(change)}>
              {change.label}
            </button>
          )}
          {Object.entries(campaignButtons(queue)).map(([name, button]) => (
            // the key keeps a switch the same element when its action changes
            <button
              key={name}
              type="button"
              class={button.primary ? "primary" : undefined}
              onClick={() => onAct(button)}
            >
              {button.label}
            </button>
          ))}
        </div>
      )}
      {view !== undefined && (
        <p class="health-line" data-state={level === "bad" && failing(view).length > 0 ? "bad" : "good"}>
          <span>{healthLine(view, level === "bad")}</span> <a href="#health">Details</a>
        </p>
      )}
    </section>
  )
}
