/**
 * One call: the session's WebSocket and the sound on both sides of it. However it ends, the sound is closed and `ended` is
 * called once.
 */
import { openSound, type Sound, type Source } from "./audio.ts"
import type { Session } from "./gate-client.ts"
import { parse, text } from "./json.ts"
import { Decoder } from "./pcm.ts"

export interface CallListener {
  readonly opened: () => void
  readonly message: (text: string) => void
  /** Loudness of what is said and what is heard, 0 to 1. */
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
  /** `unreached`: it never opened; `silent`: the page could make no sound; `remote`: the other side closed it */
  readonly ended: (how: "unreached" | "silent" | "remote" | "hung-up") => void
}

export interface Call {
  readonly hangUp: () => void
}

/** Bytes that may wait to be sent, two seconds of audio: on a slow line old speech is dropped, not sent late. */
const MOST_UNSENT = 64_000

/** Opens the call. The source is unmuted by whoever owns it. */
export const openCall = (session: Session, source: Source, listener: CallListener): Call => {
  const socket = new WebSocket(session.webSocketUrl.replace(/^http/, "ws"))
  socket.binaryType = "arraybuffer"
  const decoder = new Decoder()
  let sound: Sound | undefined
  let over = false
  let opened = false

  const end = (how: "unreached" | "silent" | "remote" | "hung-up"): void => {
    if (over) return
    over = true
    sound?.close()
    socket.close()
    listener.ended(how)
  }

  const begin = async (): Promise<void> => {
    const started = await openSound(source, {
      frame: (frame) => {
        if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < MOST_UNSENT) socket.send(frame)
      },
      said: listener.said,
      heard: listener.heard,
    })
    if (over) started.close()
    else sound = started
  }

  socket.onopen = () => {
    opened = true
    listener.opened()
    begin().catch(() => end("silent"))
  }
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data instanceof ArrayBuffer) sound?.play(decoder.push(data))
    else if (typeof data === "string") listener.message(text(parse(data).text) ?? data)
  }
  socket.onclose = () => end(opened ? "remote" : "unreached")
  return { hangUp: () => end("hung-up") }
}
