/** What a page says of the call that it offers. */
import type { AudioFormat } from "./format.ts"

/** How a page may write a format: what is absent is PCM, 16 kHz, 16 bit. */
export type WantedFormat = Partial<AudioFormat>

export interface VoiceAgentOptions {
  /** where voicegate is reached, with the path it is mounted at if any; the page's own origin when absent */
  readonly gate?: string | undefined
  /** the campaign's name or web campaign id, and the region; what the gate is configured with when absent */
  readonly campaign?: string | undefined
  readonly region?: string | undefined
  /** 1 to 256 characters that name the caller to the platform */
  readonly clientIdentifier?: string | undefined
  /** for the agent's script, and for the records of the call */
  readonly dynamicVariables?: Readonly<Record<string, string>> | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** what is sent and what is received */
  readonly input?: WantedFormat | undefined
  readonly output?: WantedFormat | undefined
  /** start by itself when it is the caller's turn, instead of on a tap */
  readonly autoStart?: boolean | undefined
  /** what is heard instead of the microphone; its tracks are stopped in the end */
  readonly source?: (() => Promise<MediaStream>) | undefined
  /** where the audio worklet is loaded from; `widget/audio.js` of the gate when absent */
  readonly worklet?: string | undefined
}

/** An address of the gate: `path` without its leading slash. */
export const gateUrl = ({ gate = "/" }: VoiceAgentOptions, path: string): URL =>
  new URL(path, new URL(gate.replace(/\/?$/, "/"), document.baseURI))

export const formatOf = ({ encoding = "pcm", sampleRate, bitsPerSample = 16 }: WantedFormat = {}): AudioFormat =>
  encoding === "pcm"
    ? { encoding, sampleRate: sampleRate ?? 16_000, bitsPerSample }
    : { encoding, sampleRate: sampleRate ?? 8_000, bitsPerSample: 8 }

/** The platform's numbers of encodings. */
const ENCODING_TYPES = { pcm: 1, mulaw: 3, alaw: 4 } as const

/** The `audioConfiguration` of a session request. */
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
