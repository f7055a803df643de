/**
 * The server's side of a session's WebSocket, with bounds on what its client can cost. A client that sends more frames than a
 * call needs (audio, texts, pings or pongs, however small) is closed with 1008; one that does not read what it is sent, with
 * 1013. From then on nothing more of it is read, and the connection is gone within `CLOSE_MILLIS`.
 *
 * What a frame means, and how many bytes are held of it, is the matter of `agent.ts`.
 */
import { Effect } from "effect"
import { type ServerOptions, WebSocket } from "ws"

/** Frames a second that a client may send: twenty times those of audio in frames of 20 ms. */
export const FRAMES_PER_SECOND = 1_000
/** In seconds: so long a client may catch up at once after its network stood still. */
const WINDOW_SECONDS = 5
/** Bytes that wait for a client to read them: half a minute of 16 kHz 16 bit mono. Beyond, it is closed. */
export const UNREAD_BYTES = 1024 * 1024
/** The longest frame a caller may send, in bytes: two seconds of 16 kHz 16 bit mono. */
const MAX_FRAME_BYTES = 64 * 1024
/** Fragments that one message may come in: audio and short texts need one. */
const MAX_FRAGMENTS = 16
/** Pieces of a network that one frame may come in. */
const MAX_CHUNKS = 1_024
/** How long a client has to answer a close, in milliseconds. */
const CLOSE_MILLIS = 2_000

/** RFC 6455, 7.4.1: policy violation, and try again later (registered with IANA). */
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

const COUNTED: ReadonlySet<string | symbol> = new Set(["message", "ping", "pong"])

/** What the WebSocket server of one platform is made with, and the effect that counts frames anew once a window. */
export const makeSessionSockets = (): {
  readonly options: ServerOptions
  readonly countAnew: Effect.Effect<never>
} => {
  const heard = new Set<SessionSocket>()

  class SessionSocket extends WebSocket {
    private frames = 0
    private refused = false

    /** Every frame comes by here first. */
    override emit(event: string | symbol, ...args: ReadonlyArray<unknown>): boolean {
      if (COUNTED.has(event) && !this.admit()) return false
      return super.emit(event, ...args)
    }

    /** Effect resumes a socket whose frames it has taken: not one that is refused. */
    override resume(): void {
      if (!this.refused) super.resume()
    }

    beginWindow(): void {
      this.frames = 0
    }

    private admit(): boolean {
      if (this.refused) return false
      this.frames++
      if (this.frames === 1) heard.add(this)
      if (this.frames > FRAMES_PER_SECOND * WINDOW_SECONDS) {
        return this.refuse(POLICY_VIOLATION, `more than ${FRAMES_PER_SECOND} frames a second`)
      }
      if (this.bufferedAmount > UNREAD_BYTES) {
        return this.refuse(TRY_AGAIN_LATER, "what is sent to this client is not read")
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

  /** Runs for ever. */
  const countAnew = Effect.sync(() => {
    for (const socket of heard) socket.beginWindow()
    heard.clear()
  }).pipe(Effect.delay(WINDOW_SECONDS * 1000), Effect.forever)

  return { options, countAnew }
}
