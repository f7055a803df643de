/** What a visit can be doing; a widget shows exactly this. Times are milliseconds of this machine's clock. */

/** A place in the queue. */
export interface Place {
  /** 1 is next */
  readonly position: number
  /** how many wait in all, when it is known */
  readonly queueLength: number | undefined
  /** in seconds; undefined while the gate cannot tell */
  readonly estimatedWait: number | undefined
  /** the voice agent cannot be reached at the moment; nobody loses their place */
  readonly disrupted: boolean
}

/**
 * Why there is no sound to send. `denied`: the visitor or the browser said no; `missing`: there is no microphone; `busy`:
 * something else has it; `insecure`: the page is neither on https nor on this machine; `no-sound`: the page's content
 * security policy, or an old browser, allows no audio worklet.
 */
export type MicrophoneProblem = "denied" | "missing" | "busy" | "insecure" | "no-sound"

/** Something to tell beside a state: what for programs, and the gate's own words if it has any. */
export interface Notice {
  readonly code: string
  readonly message: string
}

export type VoiceAgentState =
  | { readonly name: "idle"; readonly notice: Notice | undefined }
  | { readonly name: "checking-microphone" }
  | { readonly name: "no-microphone"; readonly problem: MicrophoneProblem }
  | { readonly name: "connecting"; readonly to: "gate" | "agent" }
  | {
      readonly name: "waiting"
      readonly place: Place
      /** Whether the place is live, or the connection is being made again. */
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
      /** Whether what is said goes out at present. */
      readonly link: boolean
      /** False when the microphone was taken away. */
      readonly microphone: boolean
    }
  | {
      readonly name: "ended"
      /**
       * `hung-up`, `remote`, `lost` (the network), `unreached` or `no-sound` for a call; for a place `missed`,
       * `abandoned`, `unknown`, `elsewhere` (another window has it), or what else the gate says
       */
      readonly reason: string
      readonly message: string
      /** in milliseconds, when there was a call */
      readonly lasted: number | undefined
    }
  | {
      readonly name: "refused"
      /** the gate's: `blocked`, `rate_limited`, `queue_full`, … */
      readonly code: string
      readonly message: string
      readonly issues: ReadonlyArray<string>
      readonly retryAt: number | undefined
    }
  | { readonly name: "offline"; readonly retryAt: number }
