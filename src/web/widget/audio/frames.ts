/** What passes between the audio processors and the line. */

/** A captured frame in the session's format. */
export interface Captured {
  readonly frame: ArrayBuffer
  /** 0 to 1 */
  readonly loudness: number
}

/** What is to be played: bytes in the session's format, or undefined for a message that is not audio. */
export type Played = ArrayBuffer | undefined

/** The loudness below which audio counts as silence: -48 dB. */
export const SILENT = 0.004
