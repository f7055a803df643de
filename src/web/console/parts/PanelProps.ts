/** What a panel of `panels/More.tsx` gets. */
import type { Client } from "../client.ts"

export interface PanelProps {
  /** requests to the gate (`client.ts`); poll with `usePolling` (`polling.ts`) */
  readonly client: Client
  /** the campaign that is shown, by its name */
  readonly campaign: string
  /** a number that changes when everything must be asked for at once */
  readonly refresh: number
}
