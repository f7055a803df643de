/**
 * What can be done with a row, behind one button. The first thing has the focus when it opens. Arrows, Home and End move it, and arrows open
 * the menu from its button: down at the first thing, up at the last. Escape or a tap elsewhere closes it, both by the browser's popover.
 */
import type { JSX } from "preact"
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks"

export interface MenuItem {
  readonly label: string
  /** names what it is done with, for screen readers, such as `Revoke Gate` */
  readonly name: string
  /** what it does, or where it leads */
  readonly run: (() => void) | string
  readonly danger?: boolean
  readonly disabled?: boolean
}

/** Between button and menu, and to the window's edges, in pixels. */
const GAP = 4

/** Where each key moves the focus, from the thing that has it (-1 for none). The last is -1, as `at` counts. */
const MOVES: Readonly<Record<string, (from: number, count: number) => number>> = {
  ArrowDown: (from, count) => (from + 1) % count,
  ArrowUp: (from) => Math.max(from, 0) - 1,
  Home: () => 0,
  End: () => -1,
}

export const Menu = ({ of, items }: { readonly of: string; readonly items: ReadonlyArray<MenuItem> }): JSX.Element => {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  const choices = (): ReadonlyArray<HTMLElement> => [
    ...(menu.current?.querySelectorAll<HTMLElement>("a, button") ?? []),
  ]

  const isOpen = (): boolean => menu.current?.matches(":popover-open") === true
  /** where the button was when the menu was placed beside it */
  const placedAt = useRef<number | undefined>(undefined)

  /** Below the button and flush with its end; above it where there is no room below. */
  const place = (): void => {
    const [at, box] = [button.current?.getBoundingClientRect(), menu.current]
    if (at === undefined || box === null) return
    const below = at.bottom + GAP + box.offsetHeight <= innerHeight
    box.style.top = `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - box.offsetHeight)}px`
    box.style.left = `${Math.max(GAP, at.right - box.offsetWidth)}px`
    placedAt.current = at.top
  }
  const close = (): void => menu.current?.hidePopover()
  /** Opens it with the focus on a thing, at once: a key that is pressed next must not come before the focus. */
  const openAt = (index: number): void => {
    menu.current?.showPopover()
    place()
    choices().at(index)?.focus()
  }

  // a row that the page has moved keeps its menu beside it
  useLayoutEffect(() => {
    if (isOpen()) place()
  })
  useEffect(() => {
    /** It would stay where the row was. A scroll that was over before it opened is told only now, and moves nothing. */
    const leave = (): void => {
      if (isOpen() && button.current?.getBoundingClientRect().top !== placedAt.current) close()
    }
    const follow = (): void => {
      if (isOpen()) place()
    }
    addEventListener("scroll", leave, true)
    addEventListener("resize", follow)
    return () => {
      removeEventListener("scroll", leave, true)
      removeEventListener("resize", follow)
    }
  }, [])
  return (
    <span class="menu">
      <button
        ref={button}
        type="button"
        class="quiet small-button"
        aria-label={`Actions for ${of}`}
        aria-haspopup="menu"
        popovertarget={id}
        onClick={(event) => {
          // the browser would open it too, and tell only later
          event.preventDefault()
          if (isOpen()) close()
          else openAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
          event.preventDefault()
          openAt(event.key === "ArrowDown" ? 0 : -1)
        }}
      >
        <span aria-hidden="true">•••</span>
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        aria-label={`Actions for ${of}`}
        onKeyDown={(event) => {
          if (event.key === "Tab") close()
          const move = MOVES[event.key]
          if (move === undefined) return
          event.preventDefault()
          const all = choices()
          const now = all.findIndex((each) => each.matches(":focus"))
          all.at(move(now, all.length))?.focus()
        }}
      >
        {items.map(({ danger = false, disabled = false, label, name, run }) =>
          typeof run === "string" ? (
            <a key={label} role="menuitem" tabIndex={-1} href={run} aria-label={name} onClick={close}>
              {label}
            </a>
          ) : (
            <button
              key={label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              aria-label={name}
              aria-disabled={disabled}
              class={danger ? "bad" : undefined}
              onClick={() => {
                if (disabled) return
                // the focus is on the menu's button again before what runs takes it
                close()
                button.current?.focus()
                run()
              }}
            >
              {label}
            </button>
          ),
        )}
      </div>
    </span>
  )
}
