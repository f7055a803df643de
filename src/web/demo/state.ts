/** What the page can be doing; the view shows exactly this. Times are milliseconds of this machine's clock. */
import type { NoMicrophone, SourceKind } from "./audio.ts"
import type { Place } from "./gate-client.ts"

export type State =
  | { readonly name: "idle" }
  | { readonly name: "asking" }
  | { readonly name: "no-microphone"; readonly why: NoMicrophone["why"] }
  | { readonly name: "connecting"; readonly to: "gate" | "agent" }
  | {
      readonly name: "waiting"
      readonly place: Place
      /** Whether the place is live, or the connection is being made again. */
      readonly link: boolean
      readonly notice: string | undefined
    }
  | {
      readonly name: "called"
      readonly since: number
      readonly startBefore: number
      readonly starting: boolean
      readonly notice: string | undefined
      /** Set when the microphone could not be had: a test tone is offered. */
      readonly offerTone: boolean
    }
  | { readonly name: "in-call"; readonly since: number; readonly muted: boolean; readonly source: SourceKind }
  | {
      readonly name: "ended"
      /** how the call ended, or the reason by which a ticket is over */
      readonly reason: string
      readonly message: string
      /** in milliseconds, when there was a call */
      readonly lasted: number | undefined
    }
  | {
      readonly name: "refused"
      readonly code: string
      readonly message: string
      readonly issues: ReadonlyArray<string>
      readonly retryAt: number | undefined
    }
  | { readonly name: "offline"; readonly retryAt: number }
