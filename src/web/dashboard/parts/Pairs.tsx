/** Facts about one item: each a name and its value. */
import type { ComponentChildren, JSX } from "preact"

export const Pairs = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <ul class="pairs">{children}</ul>
)

export const Pair = ({
  name,
  children,
}: {
  readonly name: string
  readonly children: ComponentChildren
}): JSX.Element => (
  <li>
    <span>{name}</span>
    <span>{children}</span>
  </li>
)
