/** The state of the store, the platform, the IP provider and the gates. */
import type { JSX } from "preact"
import type { Health as Item } from "../../../operator/shapes.ts"
import { Mark } from "../parts/Mark.tsx"
import { Panel } from "../parts/Panel.tsx"

const MARKS = {
  ok: ["good", "Healthy"],
  failed: ["bad", "Failing"],
  checking: ["none", "Checking"],
  off: ["none", "Off"],
} as const

export const Health = ({ items }: { readonly items: ReadonlyArray<Item> }): JSX.Element => (
  <Panel title="Health">
    {(heading) => (
      <ul class="health" aria-labelledby={heading}>
        {items.map(({ detail, name, state }) => {
          const [mark, text] = MARKS[state]
          return (
            <li key={name}>
              <span>{name}</span>
              <Mark of={mark}>{text}</Mark>
              <span>{detail}</span>
            </li>
          )
        })}
      </ul>
    )}
  </Panel>
)
