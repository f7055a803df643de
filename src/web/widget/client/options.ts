/** The options of the widget. */
import type { AudioFormat } from "../audio/format.ts"

/** A format as a page specifies it. Defaults: PCM, 16 kHz, 16 bit. */
export type WantedFormat = Partial<AudioFormat>

export interface VoiceAgentOptions {
  /** URL of the gate, including its base path if any; the page's own origin when absent */
  readonly gate?: string | undefined
  /** the campaign's name or web campaign id, and the region; the gate's defaults when absent */
  readonly campaign?: string | undefined
  readonly region?: string | undefined
  /** 1 to 256 characters that identify the caller at the platform */
  readonly clientIdentifier?: string | undefined
  /**
   * a signed token that says who calls, or a function that gets one from the page's backend, asked at each request; undefined and empty for a
   * visitor who is not known
   */
  readonly identity?: string | (() => Promise<string | undefined>) | undefined
  /** variables for the agent's script, and metadata for the records of the call */
  readonly dynamicVariables?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** the formats of sent and received audio */
  readonly input?: WantedFormat | undefined
  readonly output?: WantedFormat | undefined
  /** start the call automatically when it is the caller's turn, instead of on a tap */
  readonly autoStart?: boolean | undefined
  /** a call begins muted, for a page that unmutes while the caller holds a button */
  readonly pushToTalk?: boolean | undefined
  /** whether the agent takes text messages of the caller; when absent, as the platform says in its greeting */
  readonly textInput?: boolean | undefined
  /** replaces the microphone; its tracks are stopped at the end */
  readonly source?: (() => Promise<MediaStream>) | undefined
  /**
   * the SDK of the campaign's vendor, where it is not the default platform: the address of an ES module, or a function that imports it
   */
  readonly sdk?: string | (() => Promise<object>) | undefined
  /** The caller writes: no microphone is opened. `write` of the client sets it. */
  readonly writing?: boolean | undefined
  /** distinguishes several widgets of one gate and campaign on a page, so that each keeps its own place over a reload */
  readonly key?: string | undefined
  /** whether `begin` asks for consent before the microphone; of the element only */
  readonly consent?: boolean | undefined
  /** URL of the audio worklet; `widget/audio.js` of the gate when absent */
  readonly worklet?: string | undefined
}

/** `path` has no leading slash. */
export const gateUrl = ({ gate = "/" }: VoiceAgentOptions, path: string): URL =>
  new URL(path, new URL(gate.replace(/\/?$/, "/"), document.baseURI))

export const storageKeyOf = (options: VoiceAgentOptions): string => {
  const { href } = gateUrl(options, options.campaign ?? "")
  return options.key ? `${href}#${options.key}` : href
}

export const formatOf = ({ encoding = "pcm", sampleRate, bitsPerSample = 16 }: WantedFormat = {}): AudioFormat =>
  encoding === "pcm"
    ? { encoding, sampleRate: sampleRate ?? 16_000, bitsPerSample }
    : { encoding, sampleRate: sampleRate ?? 8_000, bitsPerSample: 8 }

/** The platform's encoding numbers. */
const ENCODING_TYPES = { pcm: 1, mulaw: 3, alaw: 4 } as const

export const audioConfiguration = (options: VoiceAgentOptions): Readonly<Record<string, number>> => {
  const [input, output] = [formatOf(options.input), formatOf(options.output)]
  return {
    inputEncodingType: ENCODING_TYPES[input.encoding],
    inputSampleRate: input.sampleRate,
    inputBitsPerSample: input.bitsPerSample,
    outputEncodingType: ENCODING_TYPES[output.encoding],
    outputSampleRate: output.sampleRate,
    outputBitsPerSample: output.bitsPerSample,
  }
}
