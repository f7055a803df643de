/**
 * Further panels, below the others and in this order. To add one: a component in this folder that takes `PanelProps` (`parts/PanelProps.ts`) and shows a `Panel` or
 * `ListPanel` (`parts/Panel.tsx`), or null where it has nothing to show; and its name in the list below.
 */
import type { JSX } from "preact"
import type { PanelProps } from "../parts/PanelProps.ts"
import { Deliveries } from "./Deliveries.tsx"

const PANELS: ReadonlyArray<(props: PanelProps) => JSX.Element | null> = [Deliveries]

export const More = (props: PanelProps): JSX.Element => (
  <>
    {PANELS.map((Each) => (
      <Each key={Each.name} {...props} />
    ))}
  </>
)
