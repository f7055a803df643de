/** A search over a list; what is searched is in the URL. */
import type { JSX } from "preact"
import { useEffect, useId, useState } from "preact/hooks"
import { go, href, type Route } from "../router.ts"

/** @param filter all parameters of the list in the URL, `search` among them; the others are kept */
export const Search = ({
  route,
  filter,
}: {
  readonly route: Route
  readonly filter: Readonly<Record<string, string>> & { readonly search: string }
}): JSX.Element => {
  const id = useId()
  const [text, setText] = useState(filter.search)
  // the back button changes it too
  useEffect(() => setText(filter.search), [filter.search])
  const search = (text: string): void => go(href(route.page, undefined, { ...filter, search: text.trim() }))
  return (
    <search>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault()
          search(text)
        }}
      >
        <label for={id} class="unseen">
          Search
        </label>
        <input
          id={id}
          type="search"
          maxLength={200}
          placeholder="Caller, ID or words"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Search</button>
        {filter.search !== "" && (
          <button type="button" class="quiet" onClick={() => search("")}>
            Clear
          </button>
        )}
      </form>
    </search>
  )
}
