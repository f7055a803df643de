/** The states of a visit, each of which the widget shows. Times are milliseconds of this machine's clock. */

import type { Down } from "../call/liveness.ts"

/** Another way to be heard, which the campaign offers. */
export interface Offer {
  /** `number` to call, `link` to open, `campaign` to ask for a call in */
  readonly kind: "number" | "link" | "campaign"
  readonly label: string
  /** `tel:` with the number, an https address, or a campaign */
  readonly target: string
}

/** A place in the queue. */
export interface Place {
  /** 1 is next */
  readonly position: number
  /** how many wait in total, if known */
  readonly queueLength: number | undefined
  /** in seconds from `asOf`; undefined if unknown */
  readonly estimatedWait: number | undefined
  /** the voice agent cannot be reached at the moment; callers keep their places */
  readonly disrupted: boolean
  /** an operator has paused the queue: nobody is called, and callers keep their places */
  readonly paused: boolean
  /** when the pause ends by itself; undefined when the operator has not said */
  readonly pausedUntil: number | undefined
  /** when a budget that is used up has enough for calls again, at the latest; that is a pause too. Undefined while none is used up */
  readonly resumesAt?: number | undefined
  /** what the campaign offers instead, because the wait is long; empty for nothing */
  readonly offers: ReadonlyArray<Offer>
  /** when the gate first reported this position and estimate (ms since 1970 of this machine's clock) */
  readonly asOf: number
}

/**
 * Why audio cannot be captured. `denied`: the visitor or the browser denied permission; `missing`: there is no microphone; `busy`:
 * another program uses it; `insecure`: the page is neither on https nor on localhost; `no-sound`: the audio worklet cannot be
 * loaded, because of the page's content security policy or an old browser.
 */
export type MicrophoneProblem = "denied" | "missing" | "busy" | "insecure" | "no-sound"

/** An additional notice in a state: a code for programs, and the gate's message if there is one. */
export interface Notice {
  readonly code: string
  readonly message: string
}

export type VoiceAgentState =
  | { readonly name: "idle"; readonly notice: Notice | undefined }
  /** the visitor reads what the page asks them to agree to; of the element with `consent` */
  | { readonly name: "consent" }
  | { readonly name: "checking-microphone" }
  | { readonly name: "no-microphone"; readonly problem: MicrophoneProblem }
  /** `held`: the agent's vendor holds the caller in a queue of its own */
  | { readonly name: "connecting"; readonly to: "gate" | "agent" | "held" }
  | {
      readonly name: "waiting"
      readonly place: Place
      /** Whether the place is up to date; false while reconnecting. */
      readonly link: boolean
      readonly notice: Notice | undefined
    }
  | {
      readonly name: "your-turn"
      readonly since: number
      /** NaN when the gate did not say */
      readonly startBefore: number
      readonly starting: boolean
      readonly notice: Notice | undefined
    }
  | {
      readonly name: "in-call"
      readonly since: number
      readonly muted: boolean
      /** Whether captured audio currently gets through. */
      readonly link: boolean
      /**
       * What does not answer while `link` is false: only the agent's service, or the gate neither. Undefined until that is known, which
       * takes up to two seconds.
       */
      readonly down?: Down | undefined
      /** Whether the browser plays and captures. If it does not for four seconds, the call ends as `no-sound`. */
      readonly audio: boolean
      /** False while the microphone is lost, or muted by its device or the system. */
      readonly microphone: boolean
      /** Whether the agent takes text too. */
      readonly takesText: boolean
      /** The caller writes, and has no microphone; absent in other calls. */
      readonly writing?: boolean | undefined
      /**
       * The call is about to end; absent while it is not. `silence`: it goes on if somebody speaks before `endsAt`; `length`: it reaches its time
       * limit.
       */
      readonly warning?: { readonly reason: "silence" | "length"; readonly endsAt: number } | undefined
    }
  | {
      readonly name: "ended"
      /**
       * for a call `hung-up`, `remote`, `lost` (the connection broke), `unreached`, `interrupted` (the page was reloaded or left) or
       * `no-sound`, `silent` (nobody spoke for too long), `too_long` (the call reached its time limit), `budget` (its call time is used up) or `stopped` (by the operator); for a place `missed`, `abandoned`, `unknown`, `elsewhere` (another window has it), or another reason of the gate
       */
      readonly reason: string
      readonly message: string
      /** in milliseconds, if there was a call */
      readonly lasted: number | undefined
    }
  | {
      readonly name: "refused"
      /** the gate's: `blocked`, `rate_limited`, `queue_full`, `closed` until `retryAt`, … */
      readonly code: string
      readonly message: string
      /** what of the request is wrong, in English, for the site’s owner; empty for other codes */
      readonly issues: ReadonlyArray<string>
      readonly retryAt: number | undefined
      /** what the campaign offers instead; empty for nothing */
      readonly offers: ReadonlyArray<Offer>
    }
  | { readonly name: "offline"; readonly retryAt: number }
