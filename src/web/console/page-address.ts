/**
 * What of the page is in its address: the campaign and the range of the charts. So a link opens the same page, and the browser's back
 * button goes back.
 */
import type { HistoryRange } from "../../operator/shapes.ts"

export interface PageAddress {
  /** empty for the default campaign */
  readonly campaign: string
  readonly range: HistoryRange
}

const RANGES: ReadonlyArray<HistoryRange> = ["hour", "day", "week"]

export const readAddress = (search: string): PageAddress => {
  const query = new URLSearchParams(search)
  const range = RANGES.find((each) => each === query.get("range")) ?? "hour"
  return { campaign: query.get("campaign") ?? "", range }
}

/** The query of an address; empty for what a page without one shows. */
export const writeAddress = ({ campaign, range }: PageAddress): string => {
  const query = new URLSearchParams({
    ...(campaign === "" ? {} : { campaign }),
    ...(range === "hour" ? {} : { range }),
  }).toString()
  return query === "" ? "" : `?${query}`
}
