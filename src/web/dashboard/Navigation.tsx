/** The links to the pages. On a narrow page they are behind a button of the header. */
import type { JSX } from "preact"
import { focusHeading } from "../shared/parts/focus.ts"
import { GROUPS, href, type PageName } from "./router.ts"
import * as words from "./words.ts"

const ID = "pages"

/** Shows and hides the links; there is none where they are always shown. */
export const NavigationButton = ({
  isOpen,
  onToggle,
}: {
  readonly isOpen: boolean
  readonly onToggle: () => void
}): JSX.Element => (
  <button
    type="button"
    class="navigation-button small-button"
    aria-expanded={isOpen}
    aria-controls={ID}
    onClick={onToggle}
    onKeyDown={({ key }) => {
      if (key === "Escape" && isOpen) onToggle()
    }}
  >
    Menu
  </button>
)

export const Navigation = ({
  shown,
  isOpen,
  onClose,
}: {
  readonly shown: PageName
  /** whether they are shown on a narrow page */
  readonly isOpen: boolean
  readonly onClose: () => void
}): JSX.Element => (
  <nav
    id={ID}
    aria-label="Platform"
    class={isOpen ? "tabs open" : "tabs"}
    onKeyDown={({ key }) => {
      if (key !== "Escape" || !isOpen) return
      document.querySelector<HTMLElement>(`[aria-controls=${ID}]`)?.focus()
      onClose()
    }}
  >
    {GROUPS.map((names) => (
      <div key={names[0]}>
        {names.map((name) => (
          <a
            key={name}
            href={href(name)}
            aria-current={name === shown ? "page" : undefined}
            onClick={() => {
              if (!isOpen) return
              onClose()
              // the link that has the focus is hidden
              focusHeading()
            }}
          >
            {words.titles[name]}
          </a>
        ))}
      </div>
    ))}
  </nav>
)
