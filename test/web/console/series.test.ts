/** The history of a campaign as series: what each chart shows of the counts. */

import { Effect, Metric } from "effect"
import { describe, expect, it } from "vitest"
import * as metrics from "../../../src/gatekeeper/metrics.ts"
import type { CampaignHistory } from "../../../src/operator/shapes.ts"
import { chart, quantile } from "../../../src/web/console/series.ts"
import { seconds } from "../../../src/web/console/words.ts"

const MINUTE = 60_000

const historyOf = (buckets: CampaignHistory["buckets"]): CampaignHistory => ({
  ...{ campaign: "default", range: "hour", now: 60 * MINUTE, stepMillis: MINUTE, from: MINUTE, to: 60 * MINUTE },
  buckets,
})

describe("the series of the charts", () => {
  it("have a value for each minute in which an instance reported, and none for the others", () => {
    const { load, outcomes, refusals, waits, x } = chart(
      historyOf([
        {
          at: 2 * MINUTE,
          counts: {
            ...{ samples: 5, "max.waiting": 4, "max.held": 2, "max.slots": 3, "over.ended": 1, "over.too_long": 1 },
            ...{ "over.left": 1, "over.abandoned": 2, "refused.queue_full": 1, "refused.new_reason": 2, "wait.5": 4 },
          },
        },
        { at: 60 * MINUTE, counts: { samples: 1, "over.missed": 1 } },
      ]),
    )
    expect(x).toHaveLength(60)
    const at = (series: typeof load, index: number) =>
      Object.fromEntries(series.map(({ label, values }) => [label, values[index]]))
    expect(at(load, 0)).toEqual({ Waiting: null, "Slots in use": null, Slots: null })
    expect(at(load, 1)).toEqual({ Waiting: 4, "Slots in use": 2, Slots: 3 })
    expect(at(load, 59)).toEqual({ Waiting: 0, "Slots in use": 0, Slots: null })
    expect(at(outcomes, 1)).toEqual({
      ...{
        Completed: 2,
        "Left the queue": 3,
        "Missed their turn": 0,
        "Budget used up": 0,
        Failed: 0,
        Removed: 0,
        Refused: 3,
      },
    })
    expect(at(outcomes, 59)).toMatchObject({ "Missed their turn": 1, Refused: 0 })
    expect(at(refusals, 1)).toEqual({ "Queue full": 1, "New reason": 2 })
    expect(at(waits, 59)).toEqual({ Median: null, "95 % within": null })
  })

  it("spread the waits of a bucket evenly, and know nothing beyond the last bound", () => {
    expect(quantile({}, 0.5)).toBeNull()
    expect(quantile({ "wait.1": 10 }, 0.5)).toBe(0.5)
    expect(quantile({ "wait.30": 10, "wait.60": 10 }, 0.5)).toBe(30)
    expect(quantile({ "wait.60": 100 }, 0.95)).toBeCloseTo(59.25)
    expect(quantile({ "wait.5": 1, "wait.more": 99 }, 0.95)).toBe(3600)
  })

  it("have the bounds of the gate's metric", async () => {
    const { buckets } = await Effect.runPromise(Metric.value(metrics.waited.of("default")))
    const bounds = buckets.map(([bound]) => bound).filter(Number.isFinite)
    // half of the waits below each bound: the middle between it and the one before
    bounds.forEach((bound, i) => {
      expect(quantile({ [`wait.${bound}`]: 2 }, 0.5)).toBe((bound + (bounds[i - 1] ?? 0)) / 2)
    })
  })

  it("show times as people say them", () => {
    expect([0.25, 7, 59.6, 90, 3_600].map(seconds)).toEqual(["0.3 s", "7 s", "60 s", "1:30", "1 h 00 min"])
  })
})
