/**
 * The built-in agent of a session: greets, says the caller's audio back one second later (the same bytes in the same order,
 * whatever their encoding), and answers in text. What both say becomes the conversation. What is held back is bounded: a caller
 * who sends more than `HELD_FRAMES` within the second is read no faster.
 */
import { Clock, Effect, Queue } from "effect"
import type { Socket } from "effect/socket"
import { Conversations, type Role } from "./Conversations.ts"
import { toLines } from "./http/text.ts"

/** How much later than it was said the caller's audio comes back, in milliseconds. */
export const ECHO_DELAY_MILLIS = 1_000
/** Frames held at once: twenty seconds of audio in frames of 20 ms. */
export const HELD_FRAMES = 1_000
/** Silence that ends what the caller was saying, in milliseconds. */
export const PAUSE_MILLIS = 1_500
/** The longest text of a caller, in UTF-16 units; more is cut. */
const MAX_TEXT = 2_000

const GREETING = "Hello. I repeat what you say."

/** What a caller's text frame says: itself, or the text of `{"type":"text","text":"…"}`. */
const textOf = (frame: string): string => {
  try {
    const parsed: unknown = JSON.parse(frame)
    if (typeof parsed === "object" && parsed !== null && "text" in parsed && typeof parsed.text === "string") {
      return toLines(parsed.text.slice(0, MAX_TEXT))
    }
  } catch {
    // No JSON: said in plain words.
  }
  return toLines(frame.slice(0, MAX_TEXT))
}

/** Talks until the socket closes, which fails. */
export const talk = Effect.fnUntraced(function* (socket: Socket.Socket, conversationSessionId: string) {
  const conversations = yield* Conversations
  const reader = yield* socket.reader
  const writer = yield* socket.writer
  const held = yield* Queue.bounded<{ readonly frame: Uint8Array; readonly due: number }>(HELD_FRAMES)
  /** the audio that the caller has not paused after: when it began, and when it was last heard */
  let speech: { readonly since: number; heard: number } | undefined

  // A turn that could not be written down does not end the call.
  const record = (role: Role, text: string) => Effect.ignore(conversations.say(conversationSessionId, role, text))
  const say = Effect.fnUntraced(function* (text: string) {
    yield* record("agent", text)
    yield* writer.write(JSON.stringify({ type: "message", role: "agent", text }))
  })

  const hear = Effect.fnUntraced(function* (frame: string | Uint8Array) {
    const now = yield* Clock.currentTimeMillis
    if (typeof frame !== "string") {
      speech = speech === undefined ? { since: now, heard: now } : { ...speech, heard: now }
      yield* Queue.offer(held, { frame, due: now + ECHO_DELAY_MILLIS })
      return
    }
    const text = textOf(frame)
    yield* record("caller", text)
    yield* say(`You wrote: ${text}`)
  })
  const listen = Effect.flatMap(reader.pull, (frames) => Effect.forEach(frames, hear, { discard: true }))

  const echo = Effect.gen(function* () {
    const { frame, due } = yield* Queue.take(held)
    const wait = due - (yield* Clock.currentTimeMillis)
    if (wait > 0) yield* Effect.sleep(wait)
    yield* writer.write(frame)
  })

  const answerPauses = Effect.gen(function* () {
    yield* Effect.sleep(PAUSE_MILLIS / 3)
    const now = yield* Clock.currentTimeMillis
    if (speech === undefined || now - speech.heard < PAUSE_MILLIS) return
    const seconds = ((speech.heard - speech.since) / 1000).toFixed(1)
    speech = undefined
    yield* record("caller", `(${seconds} s of audio)`)
    yield* say(`I heard ${seconds} s of audio.`)
  })

  yield* record("agent", GREETING)
  yield* writer.write(JSON.stringify({ type: "greeting", conversationSessionId, text: GREETING }))
  return yield* Effect.raceAllFirst([Effect.forever(listen), Effect.forever(echo), Effect.forever(answerPauses)])
})
