/** A word with a coloured dot. The word alone has the full meaning. */
import type { JSX } from "preact"

export const Mark = ({
  of,
  soft = false,
  children,
}: {
  readonly of: "good" | "bad" | "soon" | "none"
  readonly soft?: boolean
  readonly children: string
}): JSX.Element => (
  <span class={soft ? "mark soft" : "mark"} data-mark={of}>
    {children}
  </span>
)
