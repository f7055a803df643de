/** What is wrong, or the state of the campaign; the health in one line; and the actions on the campaign. */
import type { JSX } from "preact"
import { type ActionButton, campaignButtons, changeEnd } from "../../../operator/action-words.ts"
import type { View } from "../../../operator/shapes.ts"
import { failing, healthLine, type Named, type QueueView, type Headline as Text } from "../headline.ts"
import { writeAddress } from "../page-address.ts"
import { PartLink } from "../parts/Jumps.tsx"
import { coming, count } from "../words.ts"

/** So many other campaigns with a problem are named. */
const ELSEWHERE = 3

export const Headline = ({
  text: { advice, also, level, meaning, title },
  ordered,
  elsewhere,
  view,
  queueView,
  onAct,
  onChoose,
}: {
  readonly text: Text
  /** who has ordered what the headline says; empty when nobody has, or that is not known */
  readonly ordered: string
  /** other campaigns in which something does not work */
  readonly elsewhere: ReadonlyArray<Named>
  /** undefined before the first answer */
  readonly view: View | undefined
  readonly queueView: QueueView | undefined
  readonly onAct: (button: ActionButton) => void
  readonly onChoose: (campaign: string) => void
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
          {ordered !== "" && ` ${ordered}`}
          {level === "good" &&
            hours?.closesAt !== undefined &&
            ` Open until ${coming(hours.closesAt, view?.now ?? 0)}.`}
        </p>
        {also !== "" && <p class="meaning">{also}</p>}
        {advice !== "" && (
          <p class="advice">
            <strong>What to do:</strong> <Advice text={advice} />
          </p>
        )}
        {elsewhere.length > 0 && (
          <ul class="elsewhere" aria-label="Other campaigns with a problem">
            {elsewhere.slice(0, ELSEWHERE).map(({ name, title }) => (
              <li key={name}>
                <a
                  href={writeAddress({ campaign: name, range: "hour" })}
                  onClick={(event) => {
                    if (event.metaKey || event.ctrlKey || event.shiftKey) return
                    event.preventDefault()
                    onChoose(name)
                  }}
                >
                  {name}
                </a>
                : {title}
              </li>
            ))}
            {elsewhere.length > ELSEWHERE && (
              <li>
                <PartLink to="campaigns">{`and ${count(elsewhere.length - ELSEWHERE)} more`}</PartLink>
              </li>
            )}
          </ul>
        )}
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
              class={button.primary ? "primary" : button.question.danger ? "risky" : undefined}
              onClick={() => onAct(button)}
            >
              {button.label}
            </button>
          ))}
        </div>
      )}
      {view !== undefined && (
        <p class="health-line" data-state={level === "bad" && failing(view).length > 0 ? "bad" : "good"}>
          <span>{healthLine(view, level === "bad")}</span> <PartLink to="health">Details</PartLink>
        </p>
      )}
    </section>
  )
}

/** A text in which commands stand between backticks. */
const Advice = ({ text }: { readonly text: string }): JSX.Element => (
  <>{text.split("`").map((part, i) => (i % 2 === 0 ? part : <code key={part}>{part}</code>))}</>
)
