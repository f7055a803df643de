/** Links to the parts of the page, which is long: in its header, and on a narrow page at the lower edge of the window. */
import type { JSX } from "preact"

export interface Part {
  /** of the element */
  readonly id: string
  readonly label: string
}

/** Scrolls to a part and moves the focus to its heading. The address stays, so that the browser's back button does not go through the parts. */
const goTo = (id: string): void => {
  const part = document.getElementById(id)
  const heading = part?.querySelector<HTMLElement>("h1, h2") ?? part
  if (part === null || heading === null) return
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
  part.scrollIntoView()
}

export const PartLink = ({ to, children }: { readonly to: string; readonly children: string }): JSX.Element => (
  <a
    href={`#${to}`}
    onClick={(event) => {
      event.preventDefault()
      goTo(to)
    }}
  >
    {children}
  </a>
)

export const Jumps = ({ parts }: { readonly parts: ReadonlyArray<Part> }): JSX.Element => (
  <nav class="jumps" aria-label="Parts of this page">
    {parts.map(({ id, label }) => (
      <PartLink key={id} to={id}>
        {label}
      </PartLink>
    ))}
  </nav>
)
