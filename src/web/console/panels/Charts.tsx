/** The history of the campaign: queue and slots, waits, outcomes and refusals over an hour, a day or a week. */
import type { JSX } from "preact"
import { useEffect, useMemo, useState } from "preact/hooks"
import type { CampaignHistory, HistoryRange } from "../../../operator/shapes.ts"
import type { Client } from "../client.ts"
import { type Entry, Plot } from "../parts/Plot.tsx"
import { usePolling } from "../polling.ts"
import { type Charted, chart, greatestOf, type Series, totalOf } from "../series.ts"
import { useLate } from "../use-late.ts"
import { count, seconds } from "../words.ts"

const RANGES: ReadonlyArray<{ readonly range: HistoryRange; readonly label: string; readonly of: string }> = [
  { range: "hour", label: "1 hour", of: "the last hour" },
  { range: "day", label: "24 hours", of: "the last 24 hours" },
  { range: "week", label: "7 days", of: "the last 7 days" },
]
const EVERY_MILLIS: Readonly<Record<HistoryRange, number>> = { hour: 10_000, day: 30_000, week: 60_000 }

const time = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
const day = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "short" })

export const Charts = ({
  client,
  campaign,
  range,
  refresh,
  onRange,
}: {
  readonly client: Client
  readonly campaign: string
  readonly range: HistoryRange
  /** a number that changes when the charts must be asked for at once */
  readonly refresh: number
  readonly onRange: (range: HistoryRange) => void
}): JSX.Element => {
  const [history, setHistory] = useState<CampaignHistory>()
  // the console's own view reports a problem
  usePolling(
    () => client.history(campaign, range),
    EVERY_MILLIS[range],
    [client, campaign, range, refresh],
    setHistory,
    () => {},
  )
  const charted = useMemo(() => (history === undefined ? undefined : chart(history)), [history])
  // what is shown must not be taken for another campaign or another range while the answer is on its way
  const isStale =
    history !== undefined && (history.range !== range || (campaign !== "" && history.campaign !== campaign))
  const isLate = useLate(isStale)
  return (
    <section class="history" aria-labelledby="history">
      <header>
        <h2 id="history">History</h2>
        {isLate && <p class="soft">Loading…</p>}
        <fieldset class="segments" aria-label="Range of the charts">
          {RANGES.map((each) => (
            <button
              key={each.range}
              type="button"
              aria-pressed={each.range === range}
              onClick={() => onRange(each.range)}
            >
              {each.label}
            </button>
          ))}
        </fieldset>
      </header>
      {charted === undefined ? (
        <p class="empty">Loading…</p>
      ) : (
        <div class={isStale ? "charts stale" : "charts"}>
          <Drawn charted={charted} of={RANGES.find((each) => each.range === (history?.range ?? range))?.of ?? ""} />
        </div>
      )}
    </section>
  )
}

const entries = (series: ReadonlyArray<Series>, summary: (values: Series["values"]) => string, always = true) =>
  series.map((each): Entry => {
    const isAny = each.values.some((value) => value !== null && value > 0)
    return { ...each, summary: always || isAny ? summary(each.values) : undefined }
  })

const most = (values: Series["values"]): string => `at most ${count(greatestOf(values))}`
const total = (values: Series["values"]): string => count(totalOf(values))
const waited = (value: number | null): string => (value === null ? "–" : seconds(value))
const isEmpty = (series: ReadonlyArray<Series>): boolean =>
  series.every(({ values }) => values.every((value) => value === null || value === 0))

const Drawn = ({ charted, of }: { readonly charted: Charted; readonly of: string }): JSX.Element => {
  const { any, load, median, outcomes, p95, refusals, stepSeconds, waits, x } = charted
  const [at, setAt] = useState<number>()
  // a moment of another range means nothing in this one
  useEffect(() => setAt(undefined), [stepSeconds])
  const step = stepSeconds === 60 ? "per minute" : stepSeconds === 600 ? "per 10 minutes" : "per hour"
  const when = (index: number): string => {
    const from = (x[index] ?? 0) * 1000
    const until = from + stepSeconds * 1000
    const clock = stepSeconds === 60 ? time.format(from) : `${time.format(from)}–${time.format(until)}`
    return stepSeconds >= 3600 ? `${day.format(from)}, ${clock}` : clock
  }
  const drawn = useMemo(
    () => ({
      load: entries(load, most),
      waits: waits.map((each, i): Entry => ({ ...each, summary: waited(i === 0 ? median : p95) })),
      outcomes: entries(outcomes, total, false),
      refusals: entries(refusals, total, false),
    }),
    [charted],
  )
  const shared = { x, stepSeconds, at, when, onPoint: setAt }
  return (
    <>
      <Plot
        {...shared}
        name="load"
        title="Queue and slots"
        about={`greatest ${step}`}
        series={drawn.load}
        as="steps"
        show={count}
        nothing={any ? "" : `No instance has reported in ${of}`}
      />
      <Plot
        {...shared}
        name="waits"
        title="Wait until called"
        about={step}
        series={drawn.waits}
        as="lines"
        unit={seconds}
        show={seconds}
        nothing={median === null ? `No waiting caller was called in ${of}` : ""}
      />
      <Plot
        {...shared}
        name="outcomes"
        title="Outcomes"
        about={`callers ${step}`}
        series={drawn.outcomes}
        as="bars"
        show={count}
        nothing={isEmpty(outcomes) ? `Nothing ended in ${of}` : ""}
      />
      <Plot
        {...shared}
        name="refusals"
        title="Refusals"
        about={`by reason, ${step}`}
        series={drawn.refusals}
        as="bars"
        show={count}
        nothing={isEmpty(refusals) ? `Nobody was refused in ${of}` : ""}
      />
    </>
  )
}
