/**
 * A table on a wide page, a card for each row on a narrow one. A row keeps its element while its item is present, so the focus on its
 * button survives a redraw. The roles are explicit because some browsers drop them if CSS changes the layout of a table.
 */
import type { ComponentChildren, JSX } from "preact"

export interface Column<A> {
  readonly title: string
  readonly cell: (item: A) => ComponentChildren
  /** the title is only for screen readers, such as that of a column of buttons */
  readonly untitled?: boolean
  /**
   * its place where a row is a card: the title, beside the title, a line of its own, or a text that needs no title. Absent, it is a text after
   * its title.
   */
  readonly card?: "title" | "aside" | "line" | "plain"
  readonly class?: string
}

export const Table = <A,>({
  caption,
  columns,
  items,
  keyOf,
  dim,
}: {
  /** absent where what is around the table names it */
  readonly caption?: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly items: ReadonlyArray<A>
  readonly keyOf: (item: A) => string | number
  /** rows of items that have ended */
  readonly dim?: (item: A) => boolean
}): JSX.Element => (
  // biome-ignore-start lint/a11y/noRedundantRoles: see above
  <table role="table">
    {caption !== undefined && <caption class="unseen">{caption}</caption>}
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(({ title, untitled, class: name }) => (
          <th key={title} role="columnheader" scope="col" class={name}>
            {untitled === true ? <span class="unseen">{title}</span> : title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {items.map((item) => (
        <tr key={keyOf(item)} role="row" class={dim?.(item) === true ? "dim" : undefined}>
          {columns.map(({ title, untitled, card, cell, class: name }) => (
            <td
              key={title}
              role="cell"
              class={name}
              data-card={card}
              data-title={untitled === true ? undefined : title}
            >
              {cell(item)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
  // biome-ignore-end lint/a11y/noRedundantRoles: see above
)
