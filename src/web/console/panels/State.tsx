/** What state the campaign is in, and what can be done about it. */
import type { JSX } from "preact"
import type { Action, Queue } from "../../../operator/shapes.ts"
import * as words from "../words.ts"

export const State = ({
  queue,
  now,
  onAct,
}: {
  /** undefined before it was known */
  readonly queue: Queue | undefined
  readonly now: number
  readonly onAct: (action: Action) => void
}): JSX.Element => {
  const mood = queue === undefined ? { held: false, title: "Console", meaning: "" } : words.mood(queue, now)
  const [paused, draining] = [queue?.paused === true, queue?.draining === true]
  return (
    <section class="state" aria-labelledby="mood" data-mood={mood.held ? "held" : "open"}>
      <div>
        <h1 id="mood" tabIndex={-1}>
          {mood.title}
        </h1>
        <p class="soft">{mood.meaning}</p>
      </div>
      <div class="actions">
        <button type="button" onClick={() => onAct({ type: "call" })}>
          Call next now
        </button>
        {/* each switch stays the same button, so that the focus stays with it */}
        <button
          type="button"
          class={paused ? "primary" : undefined}
          onClick={() => onAct({ type: paused ? "resume" : "pause" })}
        >
          {paused ? "Resume calls" : "Pause calls"}
        </button>
        <button
          type="button"
          class={draining ? "primary" : undefined}
          onClick={() => onAct({ type: draining ? "reopen" : "drain" })}
        >
          {draining ? "Take callers again" : "Drain"}
        </button>
      </div>
    </section>
  )
}
