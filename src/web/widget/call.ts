/**
 * One call: the session's WebSocket and the sound on both sides of it. However it ends, the sound is closed and `ended` is
 * called once.
 */
import type { Sound, Source } from "./audio.ts"
import type { Session } from "./gate-client.ts"
import { parse, text } from "./json.ts"

/** `unreached`: it never opened; `remote`: the other side closed it; `lost`: the network did */
export type CallEnd = "unreached" | "remote" | "lost" | "hung-up"

export interface CallListener {
  readonly opened: () => void
  readonly message: (text: string) => void
  /** Loudness of what is said and what is heard, 0 to 1. */
  readonly said: (loudness: number) => void
  readonly heard: (loudness: number) => void
  /** Whether what is said goes out at present. */
  readonly link: (open: boolean) => void
  readonly ended: (how: CallEnd) => void
}

export interface Call {
  readonly hangUp: () => void
}

/** Speech that may wait to be sent, in seconds: on a slow line older speech is dropped, not sent late. */
const MOST_UNSENT = 2
/** So much unsent speech means that the line is down; after so long the call is lost. In seconds. */
const STALLED = 1
const LOST_AFTER = 10
/** A machine that went offline may still reach an agent on itself, which is then heard. In seconds. */
const SILENT = 2
/** The close code of a connection that broke (RFC 6455 §7.1.5). */
const ABNORMAL = 1006

/** Opens the call. The source is unmuted by whoever owns it. */
export const openCall = (session: Session, sound: Sound, source: Source, listener: CallListener): Call => {
  const socket = new WebSocket(session.webSocketUrl.replace(/^http/, "ws"))
  socket.binaryType = "arraybuffer"
  let over = false
  let opened = false
  let link = true
  const begunOnline = navigator.onLine
  let secondsStalled = 0
  let secondsSilent = 0

  const end = (how: CallEnd): void => {
    if (over) return
    over = true
    window.clearInterval(watch)
    sound.close()
    socket.close()
    listener.ended(how)
  }

  // A broken line is noticed late by the browser, or never; but what is said stays unsent.
  const watch = window.setInterval(() => {
    if (!opened) return
    secondsSilent++
    const stalled = socket.bufferedAmount > STALLED * sound.bytesPerSecond
    secondsStalled = stalled ? secondsStalled + 1 : 0
    const offline = begunOnline && !navigator.onLine && secondsSilent > SILENT
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
        const room = socket.bufferedAmount < MOST_UNSENT * sound.bytesPerSecond
        if (socket.readyState === WebSocket.OPEN && room) socket.send(frame)
      },
      said: listener.said,
      heard: listener.heard,
    })
  }
  socket.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (over) return
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
