/**
 * The built-in agent of a session: greets, echoes the caller's audio one second later (the same bytes in the same order, whatever
 * their encoding), and answers in text. Both sides are recorded as the conversation. The agent answers pings and texts, and says so in its
 * greeting.
 *
 * A caller's cost is bounded: reading pauses while more than `MAX_BUFFERED_FRAMES` or `MAX_BUFFERED_BYTES` are buffered; a caller who
 * exceeds `TEXT_BURST` and `TEXTS_PER_SECOND` is closed with 1008; one who is silent for the idle time is closed with 1000.
 * `http/session-socket.ts` limits unread data and the number of frames.
 */

import { Effect, Queue, Semaphore } from "effect"
import { Socket } from "effect/socket"
import { monotonicMillis } from "../../lib/age.ts"
import { toLines } from "../text.ts"
import { Conversations, type Utterance } from "./Conversations.ts"

export const ECHO_DELAY_MILLIS = 1_000
/** Limit of buffered frames: twenty seconds of audio in frames of 20 ms. */
const MAX_BUFFERED_FRAMES = 1_000
/** Limit of buffered bytes: a second of the largest format (96 kHz, 32 bit, mono) takes 384,000. */
export const MAX_BUFFERED_BYTES = 1024 * 1024
/** Texts that a caller may send in a burst, and the rate after it. */
export const TEXT_BURST = 10
export const TEXTS_PER_SECOND = 2
/** The silence that ends a caller's utterance, in milliseconds. */
export const PAUSE_MILLIS = 1_500
/** A caller's text is cut to this length, in UTF-16 units. */
const MAX_TEXT = 2_000

/** The answer to `{"type":"ping"}`, by which a caller's page knows that the connection works. Pings are not texts of the caller. */
const PONG = '{"type":"pong"}'

/** Longer texts are not parsed. */
const isPing = (frame: string): boolean => frame.length <= 64 && /^\s*\{\s*"type"\s*:\s*"ping"\s*\}\s*$/.test(frame)

const GREETING = "Hello. I repeat what you say."

/** The text of a caller's frame: the frame itself, or the text of `{"type":"text","text":"…"}`. */
const textOf = (frame: string): string => {
  try {
    const parsed: unknown = JSON.parse(frame)
    if (typeof parsed === "object" && parsed !== null && "text" in parsed && typeof parsed.text === "string") {
      return toLines(parsed.text.slice(0, MAX_TEXT))
    }
  } catch {
    // Not JSON: plain text.
  }
  return toLines(frame.slice(0, MAX_TEXT))
}

/**
 * Runs the agent until the socket closes, which is a failure.
 *
 * @param idleMillis how long the caller may be silent, in milliseconds; 0 is no limit
 */
export const talk = Effect.fnUntraced(function* (
  socket: Socket.Socket,
  conversationSessionId: string,
  idleMillis: number,
) {
  const conversations = yield* Conversations
  const reader = yield* socket.reader
  const writer = yield* socket.writer
  const byteBudget = yield* Semaphore.make(MAX_BUFFERED_BYTES)
  let lastInputAt = yield* monotonicMillis
  let textBudget = { left: TEXT_BURST, at: lastInputAt }
  const buffered = yield* Queue.bounded<{ readonly frame: Uint8Array; readonly due: number }>(MAX_BUFFERED_FRAMES)
  /** the current utterance's audio: when it started, and when its last frame arrived */
  let speech: { readonly since: number; lastAt: number } | undefined

  // A failed write of a turn does not end the call.
  const record = (...utterances: ReadonlyArray<Utterance>) =>
    Effect.ignore(conversations.addTurns(conversationSessionId, utterances))
  const answer = Effect.fnUntraced(function* (caller: string, text: string) {
    yield* record({ role: "caller", text: caller }, { role: "agent", text })
    yield* writer.write(JSON.stringify({ type: "message", role: "agent", text }))
  })

  const close = Effect.fnUntraced(function* (code: number, closeReason: string) {
    yield* writer.write(new Socket.CloseEvent(code, closeReason))
    return yield* new Socket.SocketError({ reason: new Socket.SocketCloseError({ code, closeReason }) })
  })

  /** Takes one text from the caller's budget; false when it is used up. */
  const countText = (now: number): boolean => {
    const left = Math.min(TEXT_BURST, textBudget.left + ((now - textBudget.at) / 1000) * TEXTS_PER_SECOND)
    textBudget = { left: Math.max(0, left - 1), at: now }
    return left >= 1
  }

  const handleFrame = Effect.fnUntraced(function* (frame: string | Uint8Array) {
    if (typeof frame === "string" && isPing(frame)) return yield* writer.write(PONG)
    const now = yield* monotonicMillis
    lastInputAt = now
    if (typeof frame !== "string") {
      speech = speech === undefined ? { since: now, lastAt: now } : { ...speech, lastAt: now }
      yield* byteBudget.take(frame.length)
      yield* Queue.offer(buffered, { frame, due: now + ECHO_DELAY_MILLIS })
      return
    }
    if (!countText(now)) return yield* close(1008, `more than ${TEXTS_PER_SECOND} text messages per second`)
    const text = textOf(frame)
    yield* answer(text, `You wrote: ${text}`)
  })
  const readFrames = Effect.flatMap(reader.pull, (frames) => Effect.forEach(frames, handleFrame, { discard: true }))

  const echo = Effect.gen(function* () {
    const { frame, due } = yield* Queue.take(buffered)
    const wait = due - (yield* monotonicMillis)
    if (wait > 0) yield* Effect.sleep(wait)
    yield* writer.write(frame)
    yield* byteBudget.release(frame.length)
  })

  const checkTimers = Effect.gen(function* () {
    yield* Effect.sleep(PAUSE_MILLIS / 3)
    const now = yield* monotonicMillis
    if (idleMillis > 0 && now - lastInputAt >= idleMillis) {
      return yield* close(1000, `the caller was silent for ${idleMillis / 1000} s`)
    }
    if (speech === undefined || now - speech.lastAt < PAUSE_MILLIS) return
    const seconds = ((speech.lastAt - speech.since) / 1000).toFixed(1)
    speech = undefined
    yield* answer(`(${seconds} s of audio)`, `I heard ${seconds} s of audio.`)
  })

  yield* record({ role: "agent", text: GREETING })
  yield* writer.write(
    JSON.stringify({ type: "greeting", conversationSessionId, text: GREETING, capabilities: ["ping", "text"] }),
  )
  return yield* Effect.raceAllFirst([Effect.forever(readFrames), Effect.forever(echo), Effect.forever(checkTimers)])
})
