/** The campaigns to choose from, each a link with its state and how many wait; a list to choose from where there are many. */
import type { JSX } from "preact"
import type { Campaigns } from "../../../operator/shapes.ts"
import { levelOf, stateOf } from "../campaign-state.ts"
import { MARKS } from "../headline.ts"
import { writeAddress } from "../page-address.ts"
import { count } from "../words.ts"

/** The most campaigns that are shown as links. */
const LINKS_MAX = 8

export const CampaignPicker = ({
  all,
  current,
  figures,
  stale,
  onChoose,
}: {
  readonly all: ReadonlyArray<string>
  readonly current: string
  /** undefined before they are known */
  readonly figures: Campaigns | undefined
  /** the gate does not answer */
  readonly stale: boolean
  readonly onChoose: (name: string) => void
}): JSX.Element | null => {
  if (all.length < 2) return null
  if (all.length > LINKS_MAX) {
    return (
      <select aria-label="Campaign" value={current} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {all.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    )
  }
  const known = new Map(figures?.campaigns.map((each) => [each.name, each]))
  return (
    <nav class={stale ? "campaigns stale" : "campaigns"} aria-label="Campaigns">
      {all.map((name) => {
        const row = known.get(name)
        const now = figures?.now ?? 0
        const state = row?.figures == null ? undefined : stateOf(row.figures, now, row)
        const waiting = row?.figures?.waiting ?? 0
        return (
          <a
            key={name}
            href={writeAddress({ campaign: name, range: "hour" })}
            aria-current={name === current ? "page" : undefined}
            title={name}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return
              event.preventDefault()
              onChoose(name)
            }}
          >
            <span
              class="mark"
              data-mark={row?.figures == null ? "none" : MARKS[levelOf(row.figures, now, row)]}
              aria-hidden="true"
            />
            <span class="name">{name}</span>
            {waiting > 0 && <span class="waits">{`${count(waiting)} waiting`}</span>}
            {state !== undefined && state.level !== "good" && <span class="unseen">{`, ${state.title}`}</span>}
          </a>
        )
      })}
    </nav>
  )
}
