/**
 * A table on a wide page, a card for each row on a narrow one. The roles are explicit because some browsers drop them if the layout of a
 * table is changed by CSS.
 */
import type { ComponentChildren, JSX } from "preact"

export interface Column<A> {
  readonly title: string
  readonly cell: (item: A) => ComponentChildren
  /** the title is only for screen readers, such as that of a column of buttons */
  readonly untitled?: boolean
}

export const Table = <A extends { readonly id: string }>({
  caption,
  columns,
  items,
  dim,
}: {
  readonly caption: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly items: ReadonlyArray<A>
  /** rows of items that have ended */
  readonly dim?: (item: A) => boolean
}): JSX.Element => (
  // biome-ignore-start lint/a11y/noRedundantRoles: see above
  <table role="table">
    <caption class="unseen">{caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(({ title, untitled }) => (
          <th key={title} role="columnheader" scope="col">
            {untitled === true ? <span class="unseen">{title}</span> : title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {items.map((item) => (
        <tr key={item.id} role="row" class={dim?.(item) === true ? "dim" : undefined}>
          {columns.map(({ title, untitled, cell }) => (
            <td key={title} role="cell" data-title={untitled === true ? undefined : title}>
              {cell(item)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
  // biome-ignore-end lint/a11y/noRedundantRoles: see above
)
