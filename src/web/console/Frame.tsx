/** The frame of every page: the header and the main part. */
import type { ComponentChildren, JSX } from "preact"
import { Wordmark } from "../shared/parts/Wordmark.tsx"

export const Frame = ({
  parts,
  session,
  children,
}: {
  /** links to the parts of the page */
  readonly parts?: ComponentChildren
  /** the controls in the header while an operator is signed in */
  readonly session?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element => (
  <>
    <header class="site">
      <Wordmark of="console" />
      {parts}
      {session !== undefined && <div class="session">{session}</div>}
    </header>
    <main id="now">{children}</main>
  </>
)
