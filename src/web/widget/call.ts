/**
 * One call: the session's WebSocket with the audio in both directions. However the call ends, the audio is closed and `ended` is called
 * once.
 */
import type { Sound, Source } from "./audio.ts"
import type { Session } from "./gate-client.ts"
import { parse, text } from "./json.ts"

/** `unreached`: it never opened; `remote`: the other side closed it; `lost`: the connection broke */
export type CallEnd = "unreached" | "remote" | "lost" | "hung-up"

export interface CallListener {
  readonly opened: () => void
  readonly message: (text: string) => void
  /** Loudness of the captured and of the played audio, 0 to 1. */
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
  /** Whether captured audio is currently sent. */
  readonly link: (open: boolean) => void
  readonly ended: (how: CallEnd) => void
}

export interface Call {
  readonly hangUp: () => void
}

/** Maximum buffered audio to send, in seconds: on a slow line further audio is dropped instead of sent late. */
const MAX_UNSENT = 2
/** With this much unsent audio the line counts as down, and after this time the call is lost. In seconds. */
const STALLED = 1
const LOST_AFTER = 10
/** An offline machine may still reach an agent on localhost: the link counts as down only after this silence. In seconds. */
const SILENT_AFTER = 2
/** The close code of a connection that broke (RFC 6455 §7.1.5). */
const ABNORMAL = 1006

/** Opens the call. The caller unmutes the source. */
export const openCall = (session: Session, sound: Sound, source: Source, listener: CallListener): Call => {
  const socket = new WebSocket(session.webSocketUrl.replace(/^http/, "ws"))
  socket.binaryType = "arraybuffer"
  let ended = false
  let opened = false
  let link = true
  const begunOnline = navigator.onLine
  let secondsStalled = 0
  let secondsSilent = 0

  const end = (how: CallEnd): void => {
    if (ended) return
    ended = true
    window.clearInterval(watch)
    sound.close()
    socket.close()
    listener.ended(how)
  }

  // The browser notices a broken line late or never, but unsent audio accumulates.
  const watch = window.setInterval(() => {
    if (!opened) return
    secondsSilent++
    const stalled = socket.bufferedAmount > STALLED * sound.bytesPerSecond
    secondsStalled = stalled ? secondsStalled + 1 : 0
    const offline = begunOnline && !navigator.onLine && secondsSilent > SILENT_AFTER
    if (link === (stalled || offline)) {
      link = !link
      listener.link(link)
    }
    if (secondsStalled >= LOST_AFTER) end("lost")
  }, 1_000)

  socket.onopen = () => {
    opened = true
    listener.opened()
    sound.begin(source, {
      frame: (frame) => {
        const room = socket.bufferedAmount < MAX_UNSENT * sound.bytesPerSecond
        if (socket.readyState === WebSocket.OPEN && room) socket.send(frame)
      },
      said: listener.said,
      heard: listener.heard,
    })
  }
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (ended) return
    secondsSilent = 0
    if (data instanceof ArrayBuffer) sound.play(data)
    else if (typeof data === "string") listener.message(text(parse(data).text) ?? data)
  }
  socket.onclose = ({ code }) => {
    if (!opened) end("unreached")
    else end(code === ABNORMAL ? "lost" : "remote")
  }
  return { hangUp: () => end("hung-up") }
}
