/** The parts of the embed page, and the bar that leads to them where they stand below each other. */
import type { ComponentChildren, JSX } from "preact"

export const PARTS = ["Preview", "Code", "Gate", "Look", "Position", "Language", "Call", "Consent", "Campaign"] as const
export type PartName = (typeof PARTS)[number]

const idOf = (part: PartName): string => `part-${part.toLowerCase().replaceAll(" ", "-")}`

/** The heading of a part, which has the focus after a jump to it. */
export const PartHeading = ({ of }: { readonly of: PartName }): JSX.Element => (
  <h2 id={idOf(of)} tabIndex={-1}>
    {of}
  </h2>
)

/** Options under one heading. */
export const Part = ({
  title,
  children,
}: {
  readonly title: PartName
  readonly children: ComponentChildren
}): JSX.Element => (
  <div class="options">
    <PartHeading of={title} />
    {children}
  </div>
)

/** Stays in view, so that the preview is one tap away from each option. Buttons, because the address after `#` names the page. */
export const PartsBar = ({ of }: { readonly of: ReadonlyArray<PartName> }): JSX.Element => (
  <nav class="parts-bar" aria-label="Parts of this page">
    {of.map((part) => (
      <button
        key={part}
        type="button"
        class="quiet small-button"
        onClick={() => {
          const heading = document.getElementById(idOf(part))
          heading?.focus({ preventScroll: true })
          heading?.scrollIntoView()
        }}
      >
        {part}
      </button>
    ))}
  </nav>
)
