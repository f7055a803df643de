/**
 * What a vendor's file has: how its SDK connects a call with the gate's credential. The SDK is the page's, and is not part of the widget.
 */
import type { SoundListener } from "../audio/audio.ts"
import type { Ready } from "../audio/equipment.ts"
import type { VoiceAgentOptions } from "../client/options.ts"
import type { Turn } from "../screens/transcript.ts"

/** A credential as the gate gives it. Which of `url` and `token` there is depends on the vendor. */
export interface VendorCredential {
  readonly platform: string
  readonly shape: string
  readonly url?: string
  readonly token?: string
  /** what else the vendor's SDK needs */
  readonly details?: Readonly<Record<string, unknown>>
}

/** The visitor's side of a call, and the reports about the agent's side. */
export interface Caller {
  /** the microphone; silent while muted */
  readonly microphone: MediaStream
  /** the devices of the call and the page's options, for the widget's own files */
  readonly ready: Ready
  /** who is told how the widget's own audio does, where a file uses it */
  readonly watch: SoundListener
  readonly options: VoiceAgentOptions
  /** the id of the chosen microphone, for an SDK that opens it itself */
  readonly deviceId: string | undefined
  /** the variables of the request, for a vendor whose credential carries none */
  readonly dynamicVariables: Readonly<Record<string, string>>
  /** Aborts when the call is over or given up, also before it is connected: then everything of it must be closed. */
  readonly signal: AbortSignal
  /** what either side has said */
  readonly turn: (turn: Turn) => void
  /** Plays the agent's sound and measures it. */
  readonly play: (sound: MediaStream) => void
  /** Loudness of the agent's sound, 0 to 1, where the SDK plays it. */
  readonly heard: (loudness: number) => void
  /** whether the connection currently works */
  readonly link: (open: boolean) => void
  /** whether the vendor holds the caller in a queue of its own, before or after the call is connected */
  readonly held: (held: boolean) => void
  /** The call is over, but not because of `hangUp`. */
  readonly ended: (how: "remote" | "lost") => void
}

/** A call that is connected. */
export interface VendorCall {
  readonly hangUp: () => unknown
  readonly setMuted?: ((muted: boolean) => unknown) | undefined
  /** Takes another microphone instead of one that is lost; absent where the SDK does that by itself, or cannot. */
  readonly use?: ((microphone: MediaStream) => unknown) | undefined
  /** Sends a text to the agent; absent where it takes none. */
  readonly send?: ((text: string) => unknown) | undefined
}

/** Fails if the vendor does not let the caller in. */
export type Connect<Sdk> = (sdk: Sdk, credential: VendorCredential, caller: Caller) => Promise<VendorCall>

export interface Vendor {
  /** the npm package of the SDK, for the site's owner; undefined where none is needed */
  readonly sdk: string | undefined
  /** What of this page keeps the SDK from calling, as a sentence for the site's owner; undefined if nothing does. */
  readonly lacks?: () => Promise<string | undefined>
  /** Undefined if the module is not that SDK. */
  readonly connector: (
    module: object,
  ) => ((credential: VendorCredential, caller: Caller) => Promise<VendorCall>) | undefined
}

const has = <Sdk extends object>(module: unknown, name: keyof Sdk): module is Sdk =>
  ((typeof module === "object" && module !== null) || typeof module === "function") && name in module

/**
 * @param name what the SDK's module exports, or its default export has
 * @param lacks as in `Vendor`
 */
export const vendor = <Sdk extends object>(
  sdk: string,
  name: keyof Sdk,
  connect: Connect<Sdk>,
  lacks?: Vendor["lacks"],
): Vendor => ({
  sdk,
  ...(lacks && { lacks }),
  connector: (module) => {
    const inner: unknown = "default" in module ? module.default : undefined
    const found = has<Sdk>(module, name) ? module : has<Sdk>(inner, name) ? inner : undefined
    return found && ((credential, caller) => connect(found, credential, caller))
  },
})
