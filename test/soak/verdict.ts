/** Judges a soak: compares each figure after it with the same figure before it. */

/** The allowed value of a figure afterwards. */
export type Allowed =
  | { readonly kind: "same" }
  /** at most the value before plus `by` */
  | { readonly kind: "growth"; readonly by: number }
  /** independent of the value before */
  | { readonly kind: "at most"; readonly limit: number }
  | { readonly kind: "at least"; readonly limit: number }

export interface Figure {
  readonly name: string
  readonly before: number
  readonly after: number
  readonly allowed: Allowed
  readonly unit?: "MB"
  /** explains the figure or its tolerance */
  readonly note?: string
}

export interface Judged extends Figure {
  readonly ok: boolean
}

const isAllowed = ({ after, allowed, before }: Figure): boolean => {
  switch (allowed.kind) {
    case "same":
      return after === before
    case "growth":
      return after <= before + allowed.by
    case "at most":
      return after <= allowed.limit
    case "at least":
      return after >= allowed.limit
  }
}

/** A figure that could not be measured (NaN) is not ok. */
export const judge = (figure: Figure): Judged => ({ ...figure, ok: isAllowed(figure) })

/** Points of a figure over time. */
export interface Point {
  readonly minute: number
  readonly value: number
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}

/**
 * The growth of a figure per minute: the median of the slopes between all pairs of points (Theil–Sen), which is robust against a few
 * outliers.
 */
export const slope = (points: ReadonlyArray<Point>): number =>
  median(
    points.flatMap((a, i) =>
      points.slice(i + 1).flatMap((b) => (b.minute === a.minute ? [] : [(b.value - a.value) / (b.minute - a.minute)])),
    ),
  )

/** The minimum number of points for a slope. */
export const SLOPE_POINTS = 8

/**
 * A leak shows as continuing growth: over the second half of the run, after warming up, a figure may not grow by more than `by`.
 * Undefined when there are too few points.
 */
export const judgeTrend = (
  name: string,
  points: ReadonlyArray<Point>,
  by: number,
  unit?: Figure["unit"],
): Judged | undefined => {
  const half = points.slice(Math.floor(points.length / 2))
  const [first] = half
  const last = half.at(-1)
  if (half.length < SLOPE_POINTS || first === undefined || last === undefined) return undefined
  const growth = slope(half) * (last.minute - first.minute)
  return judge({
    name,
    before: 0,
    after: growth,
    allowed: { kind: "at most", limit: by },
    ...(unit === undefined ? {} : { unit }),
    note: `trend of ${half.length} points over the second half`,
  })
}
