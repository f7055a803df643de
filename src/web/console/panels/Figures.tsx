/** The campaign in six figures, of now and of the last hour. */
import type { ComponentChildren, JSX } from "preact"
import type { Minutes } from "../history.ts"
import type { Known } from "../look.ts"
import { count, span } from "../words.ts"
import { REFUSALS } from "./Charts.tsx"

export const Figures = ({
  known,
  minutes,
}: {
  readonly known: Known | undefined
  readonly minutes: Minutes
}): JSX.Element => {
  const refused = REFUSALS.reduce((all, [name]) => all + minutes.total(name), 0)
  const [passed, blocked] = [minutes.total("letThroughUnchecked"), minutes.total("ipCheckFailed")]
  return (
    <dl class="figures">
      {known !== undefined && <OfQueue known={known} />}
      <Figure label="Refused" value={count(refused)} more="in the last hour" />
      <Figure
        label="Addresses not checked"
        value={count(passed + blocked)}
        more={`${count(passed)} let through, ${count(blocked)} blocked in the last hour`}
      />
    </dl>
  )
}

const OfQueue = ({ known: { now, queue, slots } }: { readonly known: Known }): JSX.Element => {
  const { accepted, averageMillis, doubts, firstAcceptedAt, held, live, present, waiting } = queue
  const called = `${count(held - live - doubts)} called or starting`
  return (
    <>
      <Figure
        label="Slots in use"
        value={`${count(held)} of ${count(slots)}`}
        more={`${count(live)} in call, ${called}${doubts === 0 ? "" : `, ${count(doubts)} not confirmed`}`}
      >
        <dd class="gauge" aria-hidden="true">
          <div style={{ transform: `scaleX(${Math.min(1, held / Math.max(1, slots))})` }} />
        </dd>
      </Figure>
      <Figure label="Waiting" value={count(waiting)} more={`${count(present)} present`} />
      <Figure
        label="Longest wait"
        value={firstAcceptedAt === 0 ? "none" : span(now - firstAcceptedAt)}
        more="of those waiting now"
      />
      <Figure
        label="Average call"
        value={averageMillis === 0 ? "none" : span(averageMillis)}
        more={`${count(accepted)} accepted so far`}
      />
    </>
  )
}

const Figure = ({
  label,
  value,
  more,
  children,
}: {
  readonly label: string
  readonly value: string
  readonly more: string
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div>
    <dt>{label}</dt>
    <dd class="value">{value}</dd>
    <dd class="small">{more}</dd>
    {children}
  </div>
)
