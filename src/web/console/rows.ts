/**
 * Rows that follow a list by key: a row stays the same element while its item stays, so that the focus on its button, and a
 * screen reader's place, outlive every redraw.
 */
import { find, make, setText } from "./dom.ts"

export interface Row {
  readonly element: HTMLElement
}

export interface Rows<A> {
  readonly show: (items: ReadonlyArray<A>) => void
}

export const createRows = <A, R extends Row>(options: {
  /** `data-rows` of the container, and `data-empty` of what is shown instead of no rows, when there is such */
  readonly name: string
  readonly key: (item: A) => string
  readonly create: (item: A) => R
  readonly update: (row: R, item: A) => void
}): Rows<A> => {
  const container = find(`[data-rows="${options.name}"]`)
  const empty = document.querySelector<HTMLElement>(`[data-empty="${options.name}"]`)
  const scroll = container.closest<HTMLElement>(".scroll")
  // a table that is wider than its place is scrolled by keyboard too
  if (scroll !== null) {
    scroll.tabIndex = 0
    scroll.setAttribute("role", "group")
    scroll.setAttribute("aria-labelledby", `${options.name}-title`)
  }
  const rows = new Map<string, R>()
  return {
    show: (items) => {
      const keys = new Set(items.map(options.key))
      for (const [key, row] of rows) {
        if (keys.has(key)) continue
        // who had the focus on a row that is gone goes on at its table
        if (row.element.contains(document.activeElement)) scroll?.focus()
        row.element.remove()
        rows.delete(key)
      }
      let before: Element | null = null
      for (const item of items) {
        const key = options.key(item)
        const row = rows.get(key) ?? options.create(item)
        rows.set(key, row)
        options.update(row, item)
        const next: Element | null = before === null ? container.firstElementChild : before.nextElementSibling
        if (next !== row.element) container.insertBefore(row.element, next)
        before = row.element
      }
      if (empty !== null) empty.hidden = items.length > 0
      if (empty !== null && scroll !== null) scroll.hidden = items.length === 0
    },
  }
}

/** A table row of plain cells; an action, if there is one, has a button of its own in the last. */
export interface TableRow extends Row {
  readonly cells: ReadonlyArray<HTMLElement>
  readonly button: HTMLButtonElement | undefined
}

export const createTableRow = (cells: number, action?: { readonly label: string; readonly name: string }): TableRow => {
  const element = make("tr")
  const made = Array.from({ length: cells }, () => element.appendChild(make("td")))
  if (action === undefined) return { element, cells: made, button: undefined }
  const button = make("button", action.label, "row-action")
  button.type = "button"
  button.dataset.action = action.name
  button.append(make("span", "", "unseen"))
  element.appendChild(make("td", "", "act")).append(button)
  return { element, cells: made, button }
}

/** Names whose row a button is, for those who hear it alone. */
export const nameButton = ({ button }: TableRow, of: string): void => {
  const hidden = button?.querySelector(".unseen")
  if (hidden) setText(hidden, ` ${of}`)
}
