/** The figures of the campaign, and sums of the last hour, which are of all campaigns. */
import type { ComponentChildren, JSX } from "preact"
import { isKnownNumber } from "../../../fifo-queue/bounds.ts"
import type { Minutes } from "../minutes.ts"
import type { QueueView } from "../polling.ts"
import { count, duration, heldOf, unknownSlots } from "../words.ts"
import { refusalsOf } from "./Charts.tsx"

export const Figures = ({
  view,
  minutes,
  several,
}: {
  readonly view: QueueView | undefined
  readonly minutes: Minutes
  /** whether the gate has several campaigns */
  readonly several: boolean
}): JSX.Element => {
  const hour = `in the last hour${several ? ", all campaigns" : ""}`
  const refused = refusalsOf(minutes).reduce((sum, { name }) => sum + minutes.total(name), 0)
  const [passed, blocked] = [minutes.total("letThroughUnchecked"), minutes.total("refused.ip_check_failed")]
  return (
    <dl class="figures">
      {view !== undefined && <QueueFigures view={view} />}
      <Figure label="Refused" value={count(refused)} more={hour} />
      {minutes.total("offered") > 0 && (
        <Figure
          label="Offered another way"
          value={count(minutes.total("offered"))}
          more={`${count(minutes.total("offersTaken"))} left for it ${hour}`}
        />
      )}
      <Figure
        label="Unchecked addresses"
        value={count(passed + blocked)}
        more={`${count(passed)} allowed, ${count(blocked)} blocked ${hour}`}
      />
    </dl>
  )
}

const QueueFigures = ({ view: { account: name, now, queue, slots } }: { readonly view: QueueView }): JSX.Element => {
  const { accepted, account, allowed, averageMillis, doubts, firstAcceptedAt, held, live, present, waiting } = queue
  const called = `${count(held - live - doubts)} called or starting`
  return (
    <>
      <Figure
        label="Slots in use"
        value={heldOf(held, slots)}
        more={`${count(live)} in call, ${called}${doubts === 0 ? "" : `, ${count(doubts)} unconfirmed`}${unknownSlots(slots, allowed)}`}
      >
        <dd class="gauge" aria-hidden="true">
          <div style={{ transform: `scaleX(${Math.min(1, held / Math.max(1, slots ?? allowed ?? held))})` }} />
        </dd>
      </Figure>
      {account !== undefined && (
        <Figure
          label="Calls of the account"
          value={heldOf(account.held, isKnownNumber(account.cap) ? account.cap : null)}
          more={`account ${name}${account.reserved === 0 ? "" : `, ${count(account.reserved)} reserved for this campaign`}`}
        />
      )}
      <Figure label="Waiting" value={count(waiting)} more={`${count(present)} present`} />
      <Figure
        label="Longest wait"
        value={firstAcceptedAt === 0 ? "none" : duration(now - firstAcceptedAt)}
        more="waiting right now"
      />
      <Figure
        label="Average call length"
        value={averageMillis === 0 ? "none" : duration(averageMillis)}
        more={`${count(accepted)} accepted in total`}
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
