/** A filter of a list; the choice is in the URL. */
import type { JSX } from "preact"
import { useId } from "preact/hooks"
import { go, href, type Route } from "../router.ts"

export interface Option {
  readonly value: string
  readonly label: string
}

/** @param name the URL parameter; the other parameters in `filter` are kept */
export const Filter = ({
  label,
  name,
  options,
  route,
  filter,
}: {
  readonly label: string
  readonly name: string
  readonly options: ReadonlyArray<Option>
  readonly route: Route
  readonly filter: Readonly<Record<string, string>>
}): JSX.Element => {
  const id = useId()
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={filter[name] ?? ""}
        onChange={({ currentTarget }) =>
          // A new filter starts at its first page.
          go(href(route.page, undefined, { ...filter, [name]: currentTarget.value }))
        }
      >
        <option value="">All</option>
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  )
}
