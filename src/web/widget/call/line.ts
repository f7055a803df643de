/**
 * The line of one call: the session's WebSocket, between the ports of the audio processors. It knows within five seconds that nothing
 * gets through. It runs in a worker (`line-worker.ts`), or in the page where no worker is allowed.
 *
 * The protocol of a session is binary audio frames and text messages. A platform that answers `{"type":"ping"}` with
 * `{"type":"pong"}` says so by a text message with `"capabilities":["ping"]`, such as its greeting; others get no ping.
 */

import type { Captured, Played } from "../audio/frames.ts"
import { reaches } from "../gate/answers.ts"
import { list, parse } from "../gate/json.ts"
import { createLiveness, type Down } from "./liveness.ts"
import { hold } from "./outbox.ts"

/** `unreached`: it never opened; `remote`: the other side closed it; `lost`: the connection broke */
export type LineEnd = "unreached" | "remote" | "lost" | "hung-up"

export interface LineRequest {
  readonly url: string
  /** bytes of one second of captured audio */
  readonly bytesPerSecond: number
  /** a small file of the gate, which answers if the network does */
  readonly probe: string
  /** where captured audio comes from, and where received audio goes */
  readonly capture: MessagePort
  readonly playback: MessagePort
}

export type LineEvent =
  | { readonly type: "opened" }
  | { readonly type: "text"; readonly text: string }
  /** what keeps captured audio from getting through now; undefined if nothing does */
  | { readonly type: "link"; readonly down: Down | undefined }
  /** the page's content security policy blocks the WebSocket (`connect-src`) */
  | { readonly type: "blocked" }
  | { readonly type: "ended"; readonly how: LineEnd }
  /** After `ended`, once: whether the other side knows. */
  | { readonly type: "closed"; readonly clean: boolean }

export interface Line {
  /** Sends a text message, once the line is open. */
  readonly send: (text: string) => void
  readonly hangUp: () => void
}

/** A call that did not open after this time is given up, in milliseconds. */
const OPEN_WITHIN = 10_000
/** A call whose line is down for this long is lost, in milliseconds. TCP may resume until then. */
const LOST_AFTER = 20_000
/** How long the other side may take to answer the closing handshake, in milliseconds. */
const CLOSE_WITHIN = 1_500
const CHECK_EVERY = 250
/** Maximum length that the WebSocket may hold unsent, in seconds. */
const MAX_UNSENT = 0.1
/** The close code of a connection that broke (RFC 6455 §7.1.5). */
const ABNORMAL = 1006

/** `ended` and `closed` are reported once each, and nothing after them. */
export const openLine = (request: LineRequest, report: (event: LineEvent) => void): Line => {
  const { bytesPerSecond, capture, playback, probe, url } = request
  const socket = new WebSocket(url)
  socket.binaryType = "arraybuffer"
  const liveness = createLiveness({
    isOnline: () => navigator.onLine,
    reachesGate: () => reaches(probe),
  })
  let held: Array<Captured> = []
  let [opened, ended, closed] = [false, false, false]
  let down: Down | undefined
  let downSince = 0

  const end = (how: LineEnd): void => {
    if (ended) return
    ended = true
    clearTimeout(opening)
    clearInterval(checking)
    globalThis.removeEventListener("securitypolicyviolation", onViolation)
    report({ type: "ended", how })
    socket.close()
    if (how === "hung-up" && opened) setTimeout(() => close(false), CLOSE_WITHIN)
    else close(how === "remote")
  }
  const close = (clean: boolean): void => {
    if (closed) return
    closed = true
    report({ type: "closed", clean })
  }

  const check = (): void => {
    const now = performance.now()
    if (liveness.ping(now)) socket.send('{"type":"ping"}')
    const before = down
    down = liveness.down(now, isFull() ? socket.bufferedAmount : 0)
    if (before === undefined) downSince = now
    if (down !== before) report({ type: "link", down })
    if (down !== undefined && now - downSince >= LOST_AFTER) end("lost")
  }
  const isFull = (): boolean => socket.bufferedAmount > MAX_UNSENT * bytesPerSecond

  const sendAudio = ({ data }: MessageEvent<Captured>): void => {
    hold(held, data)
    const stuck = down !== undefined || isFull() || liveness.isDelayed(performance.now())
    if (socket.readyState !== WebSocket.OPEN || stuck) return
    for (const { frame } of held) socket.send(frame)
    held = []
  }

  const hear = (text: string): void => {
    const { capabilities, type } = parse(text)
    if (list(capabilities).includes("ping")) liveness.startPings()
    if (type === "pong") liveness.pong(performance.now())
    else report({ type: "text", text })
  }

  const onViolation = ({ blockedURI, disposition, effectiveDirective }: SecurityPolicyViolationEvent): void => {
    if (opened || disposition !== "enforce" || effectiveDirective !== "connect-src" || !blockedURI.startsWith("ws"))
      return
    report({ type: "blocked" })
    end("unreached")
  }

  // A policy is reported here where it applies: in the page, and in a worker made of a blob.
  globalThis.addEventListener("securitypolicyviolation", onViolation)
  const opening = setTimeout(() => end("unreached"), OPEN_WITHIN)
  let checking: ReturnType<typeof setInterval> | undefined
  socket.onopen = () => {
    opened = true
    clearTimeout(opening)
    liveness.heard(performance.now())
    checking = setInterval(check, CHECK_EVERY)
    capture.onmessage = sendAudio
    report({ type: "opened" })
  }
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (ended) return
    liveness.heard(performance.now())
    const played: Played = typeof data === "string" ? undefined : data
    playback.postMessage(played)
    if (typeof data === "string") hear(data)
  }
  // Where a policy forbids the connection, no `close` follows.
  socket.onerror = () => {
    if (!opened) end("unreached")
  }
  socket.onclose = ({ code }) => {
    if (!opened) end("unreached")
    else end(code === ABNORMAL ? "lost" : "remote")
    close(code !== ABNORMAL)
  }
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    hangUp: () => end("hung-up"),
  }
}
