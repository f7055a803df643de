/** Pages of a long list: where one is, back and forth, and a jump to any place. Hidden while everything fits on one page. */
import { find, make, setText } from "./dom.ts"
import { count } from "./words.ts"

export interface Pager {
  readonly first: () => number
  readonly reset: () => void
  readonly show: (total: number) => void
}

export const createPager = (name: string, of: string, rows: number, jumps: boolean, onMove: () => void): Pager => {
  const container = find(`[data-pager="${name}"]`)
  const where = make("span", "", "soft")
  const button = (label: string): HTMLButtonElement => {
    const made = make("button", label)
    made.type = "button"
    made.append(make("span", ` ${of}`, "unseen"))
    return made
  }
  const previous = button("Previous")
  const next = button("Next")
  const jump = make("form", "", "jump")
  const label = make("label", "Go to")
  const input = make("input")
  input.type = "number"
  input.min = "1"
  input.id = `${name}-jump`
  label.htmlFor = input.id
  label.append(make("span", ` place of ${of}`, "unseen"))
  jump.append(label, input)
  container.append(where, previous, next, ...(jumps ? [jump] : []))

  let first = 0
  let total = 0
  const move = (to: number): void => {
    first = Math.max(0, Math.min(to, Math.floor(Math.max(0, total - 1) / rows) * rows))
    draw()
    onMove()
  }
  const draw = (): void => {
    container.hidden = total <= rows && first === 0
    setText(where, `${count(Math.min(first + 1, total))} to ${count(Math.min(first + rows, total))} of ${count(total)}`)
    // a disabled button would lose the focus of who pages with it
    previous.setAttribute("aria-disabled", String(first === 0))
    next.setAttribute("aria-disabled", String(first + rows >= total))
    input.max = String(Math.max(1, total))
  }
  previous.addEventListener("click", () => {
    if (first > 0) move(first - rows)
  })
  next.addEventListener("click", () => {
    if (first + rows < total) move(first + rows)
  })
  jump.addEventListener("submit", (event) => {
    event.preventDefault()
    const place = Math.floor(Number(input.value))
    if (place >= 1) move(Math.floor((Math.min(place, Math.max(1, total)) - 1) / rows) * rows)
  })
  draw()
  return {
    first: () => first,
    reset: () => {
      first = 0
    },
    show: (count) => {
      total = count
      // the list has become shorter than where one was
      if (first > 0 && first >= total) move(first)
      else draw()
    },
  }
}
