/** A word with a dot before it, which is never the only sign. */
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
