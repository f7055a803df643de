/** The console's wire as the page reads it: the gate's own definitions, as types alone. */
import type { Action as ActionSchema, View as ViewSchema } from "../../http/console/Api.ts"

export type View = typeof ViewSchema.Type
export type Action = typeof ActionSchema.Type
export type Figures = NonNullable<View["queue"]>
export type HeldSlot = Figures["slotPage"][number]
export type WaitingTicket = Figures["linePage"][number]
export type Health = View["health"][number]
export type Instance = View["instances"][number]

export interface Done {
  readonly result: string
  readonly ticket: string
}

export interface TrailLine {
  readonly n: number
  readonly at: number
  readonly who: string
  readonly action: string
  readonly target: string
  readonly result: string
}

export interface Trail {
  readonly total: number
  readonly lines: ReadonlyArray<TrailLine>
}
