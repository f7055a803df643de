/** A section of the page with a heading, and one that contains a paged table. */
import type { ComponentChildren, JSX } from "preact"
import { useId } from "preact/hooks"
import { type Column, Table } from "../../shared/parts/Table.tsx"

export const Panel = ({
  title,
  of = "panel",
  id,
  figure,
  pager,
  footer,
  children,
}: {
  readonly title: string
  readonly of?: string
  /** where a link leads */
  readonly id?: string
  /** below the heading */
  readonly figure?: ComponentChildren
  readonly pager?: ComponentChildren
  /** below the content */
  readonly footer?: ComponentChildren
  readonly children: (heading: string) => ComponentChildren
}): JSX.Element => {
  const heading = useId()
  return (
    <section class={of} id={id} aria-labelledby={heading}>
      <header>
        <h2 id={heading}>{title}</h2>
        {pager}
      </header>
      {figure}
      {children(heading)}
      {footer}
    </section>
  )
}

export const ListPanel = <A,>({
  note = "",
  empty,
  columns,
  items,
  keyOf,
  ...panel
}: {
  readonly title: string
  readonly of?: string
  readonly id?: string
  readonly figure?: ComponentChildren
  readonly pager?: ComponentChildren
  readonly footer?: ComponentChildren
  /** a sentence above the rows */
  readonly note?: string
  /** shown when there are no rows */
  readonly empty: string
  readonly columns: ReadonlyArray<Column<A>>
  readonly items: ReadonlyArray<A>
  readonly keyOf: (item: A) => string | number
}): JSX.Element => (
  <Panel {...panel}>
    {(heading) => (
      <>
        {note !== "" && <p class="note soft">{note}</p>}
        {items.length === 0 ? (
          <p class="empty">{empty}</p>
        ) : (
          // biome-ignore-start lint/a11y/noNoninteractiveTabindex: a table that is wider than its place can be scrolled by keyboard
          // biome-ignore-start lint/a11y/useSemanticElements: it is not a fieldset
          <div class="scroll" tabIndex={0} role="group" aria-labelledby={heading}>
            <Table columns={columns} items={items} keyOf={keyOf} />
          </div>
          // biome-ignore-end lint/a11y/useSemanticElements: see above
          // biome-ignore-end lint/a11y/noNoninteractiveTabindex: see above
        )}
      </>
    )}
  </Panel>
)
