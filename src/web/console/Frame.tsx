/** What is on every page: whose it is, and the session at hand. */
import type { ComponentChildren, JSX } from "preact"
import { Wordmark } from "../shared/parts/Wordmark.tsx"

export const Frame = ({
  session,
  children,
}: {
  /** what is at hand on every page of somebody who is signed in */
  readonly session?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element => (
  <>
    <header class="site">
      <Wordmark of="console" />
      {session !== undefined && <div class="session">{session}</div>}
    </header>
    <main>{children}</main>
  </>
)
