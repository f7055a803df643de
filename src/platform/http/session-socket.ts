/**
 * The server's side of a session's WebSocket, with limits on its client's cost. A client that sends more frames than a call needs
 * (audio, texts, pings or pongs, however small) is closed with 1008; one that does not read its data is closed with 1013. After
 * that nothing more is read from it, and the connection is closed within `CLOSE_MILLIS`.
 *
 * `calls/agent.ts` interprets the frames and limits how many bytes are buffered.
 */
import { Effect, Schedule } from "effect"
import { type ServerOptions, WebSocket } from "ws"

/** Limit of frames per second: twenty times those of audio in frames of 20 ms. */
const FRAMES_PER_SECOND = 1_000
/** The window for counting frames, in seconds: a client may catch up in a burst after a network interruption of this length. */
const WINDOW_SECONDS = 5
/** Limit of unread bytes, beyond which a client is closed: half a minute of 16 kHz 16 bit mono. */
export const MAX_UNREAD_BYTES = 1024 * 1024
/** Limit of a caller's frame, in bytes: two seconds of 16 kHz 16 bit mono. */
const MAX_FRAME_BYTES = 64 * 1024
/** Limit of fragments per message: audio and short texts need one. */
const MAX_FRAGMENTS = 16
/** Limit of network chunks per frame. */
const MAX_CHUNKS = 1_024
/** How long a client has to answer a close, in milliseconds. */
const CLOSE_MILLIS = 2_000

/** RFC 6455, 7.4.1: policy violation, and try again later (registered with IANA). */
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

const COUNTED_EVENTS: ReadonlySet<string | symbol> = new Set(["message", "ping", "pong"])

/** Options of the platform's WebSocket server, and the effect that resets the frame counts once per window. */
export const makeSessionSockets = (): {
  readonly options: ServerOptions
  readonly resetWindows: Effect.Effect<unknown>
} => {
  const activeSockets = new Set<SessionSocket>()

  class SessionSocket extends WebSocket {
    private frames = 0
    private refused = false

    /** Every frame passes through here first. */
    override emit(event: string | symbol, ...args: ReadonlyArray<unknown>): boolean {
      if (COUNTED_EVENTS.has(event) && !this.admit()) return false
      return super.emit(event, ...args)
    }

    /** Effect resumes a socket after it has handled its frames; a refused socket stays paused. */
    override resume(): void {
      if (!this.refused) super.resume()
    }

    beginWindow(): void {
      this.frames = 0
    }

    private admit(): boolean {
      if (this.refused) return false
      this.frames++
      if (this.frames === 1) activeSockets.add(this)
      if (this.frames > FRAMES_PER_SECOND * WINDOW_SECONDS) {
        return this.refuse(POLICY_VIOLATION, `more than ${FRAMES_PER_SECOND} frames per second`)
      }
      if (this.bufferedAmount > MAX_UNREAD_BYTES) {
        return this.refuse(TRY_AGAIN_LATER, "the client does not read its data")
      }
      return true
    }

    private refuse(code: number, reason: string): false {
      this.refused = true
      this.close(code, reason)
      this.pause()
      return false
    }
  }

  const options = {
    WebSocket: SessionSocket,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: MAX_FRAGMENTS,
    maxBufferedChunks: MAX_CHUNKS,
    closeTimeout: CLOSE_MILLIS,
  }

  /** Runs forever. */
  const resetWindows = Effect.sync(() => {
    for (const socket of activeSockets) socket.beginWindow()
    activeSockets.clear()
  }).pipe(Effect.schedule(Schedule.spaced(WINDOW_SECONDS * 1000)))

  return { options, resetWindows }
}
