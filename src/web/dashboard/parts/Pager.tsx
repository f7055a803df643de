/** Pagination. The cursor is in the URL, so that a reload and the back button keep the page. */
import type { JSX } from "preact"
import type { Page } from "../../../platform/http/dashboard/shapes.ts"
import { href, type Route } from "../router.ts"

const PAGE = 20

/** The page of a list that the URL names. */
export const pageOf = ({
  query,
}: Route): { readonly limit: number; readonly next?: string; readonly previous?: string } => {
  const [next, previous] = [query.get("next"), query.get("previous")]
  return {
    limit: PAGE,
    ...(next === null ? {} : { next }),
    ...(previous === null || next !== null ? {} : { previous }),
  }
}

/** Links to the previous and next pages, which keep `filter`. */
export const Pager = ({
  route,
  of,
  filter = {},
}: {
  readonly route: Route
  readonly of: Page<unknown>
  readonly filter?: Readonly<Record<string, string>>
}): JSX.Element | null =>
  of.nextCursor === null && of.previousCursor === null ? null : (
    <nav class="actions" aria-label="Pages">
      {of.previousCursor !== null && (
        <a class="button" href={href(route.page, undefined, { ...filter, previous: of.previousCursor })}>
          Newer
        </a>
      )}
      {of.nextCursor !== null && (
        <a class="button" href={href(route.page, undefined, { ...filter, next: of.nextCursor })}>
          Older
        </a>
      )}
    </nav>
  )
