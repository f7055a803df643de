/** Moves between the pages of a long list: back, forward, or to any row. Not shown while all rows fit on one page. */
import type { JSX } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import { count } from "../words.ts"

export const Pager = ({
  of,
  first,
  rows,
  total,
  jumps = false,
  onMove,
}: {
  /** the name of the list */
  readonly of: string
  /** the first row shown, from 0 */
  readonly first: number
  readonly rows: number
  readonly total: number
  readonly jumps?: boolean
  readonly onMove: (first: number) => void
}): JSX.Element | null => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const last = Math.floor(Math.max(0, total - 1) / rows) * rows
  useEffect(() => {
    // the list has become shorter than the first row shown
    if (first > last) onMove(last)
  }, [first, last])
  if (total <= rows && first === 0) return null
  const jump = (): void => {
    const place = Math.floor(Number(input.current?.value))
    if (place >= 1) onMove(Math.floor((Math.min(place, Math.max(1, total)) - 1) / rows) * rows)
  }
  return (
    <div class="pager">
      <span class="soft">
        {`${count(Math.min(first + 1, total))}–${count(Math.min(first + rows, total))} of ${count(total)}`}
      </span>
      <Move to="Previous" of={of} off={first === 0} onMove={() => onMove(first - rows)} />
      <Move to="Next" of={of} off={first + rows >= total} onMove={() => onMove(first + rows)} />
      {jumps && (
        <form
          class="jump"
          onSubmit={(event) => {
            event.preventDefault()
            jump()
          }}
        >
          <label for={id}>
            Go to<span class="unseen"> place of {of}</span>
          </label>
          <input ref={input} id={id} type="number" min="1" max={Math.max(1, total)} />
        </form>
      )}
    </div>
  )
}

const Move = ({
  to,
  of,
  off,
  onMove,
}: {
  readonly to: string
  readonly of: string
  readonly off: boolean
  readonly onMove: () => void
}): JSX.Element => (
  // a disabled button would lose the focus
  <button
    type="button"
    aria-disabled={off}
    onClick={() => {
      if (!off) onMove()
    }}
  >
    {to}
    <span class="unseen"> {of}</span>
  </button>
)
