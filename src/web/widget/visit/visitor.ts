/** For whom a visit is: what its page is told, and what the page has switched on. */
import type { VoiceAgentState } from "../client/state.ts"
import type { Turn } from "../screens/transcript.ts"
import type { VendorsPart } from "../vendors.ts"

/** What a page has switched on for its visits (`extras/extras.ts`). */
export interface VisitExtras {
  /** Resolves when the visitor has agreed to a call; then shows that the microphone is checked, if the page asks for consent. */
  readonly agreed: () => Promise<void>
  /** the ticket of another device that the visit takes over */
  readonly takes: () => string | undefined
  /** Tells which ticket the visit has. */
  readonly holds: (ticket: string) => void
  /** whether another device may have this ticket too */
  readonly shares: (ticket: string) => boolean
}

export interface Visitor {
  readonly extras?: VisitExtras
  /** Loads what calls of another platform than the default one need; absent in a widget that is older than they are. */
  readonly vendors?: () => Promise<VendorsPart>
  readonly show: (state: VoiceAgentState) => void
  readonly turn: (turn: Turn) => void
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
}
