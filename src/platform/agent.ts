/**
 * The built-in agent of a session: greets, says the caller's audio back one second later (the same bytes in the same order,
 * whatever their encoding), and answers in text. What both say becomes the conversation.
 *
 * What a caller can cost is bounded: one who sends more than `HELD_FRAMES` or `HELD_BYTES` within the second is read no faster;
 * one who sends more texts than `TEXT_BURST` and then `TEXTS_PER_SECOND` is closed with 1008; one who says nothing for the idle
 * time is closed with 1000. What a client does not read, and how many frames it sends, is bounded by `http/session-socket.ts`.
 */
import { Clock, Effect, Queue, Semaphore } from "effect"
import { Socket } from "effect/socket"
import { Conversations, type Said } from "./Conversations.ts"
import { toLines } from "./http/text.ts"

/** How much later than it was said the caller's audio comes back, in milliseconds. */
export const ECHO_DELAY_MILLIS = 1_000
/** Frames held at once: twenty seconds of audio in frames of 20 ms. */
export const HELD_FRAMES = 1_000
/** Bytes held at once: a second of the largest format (96 kHz, 32 bit, mono) takes 384,000. */
export const HELD_BYTES = 1024 * 1024
/** Texts that a caller may send at once, and how many more each second. */
export const TEXT_BURST = 10
export const TEXTS_PER_SECOND = 2
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

/**
 * Talks until the socket closes, which fails.
 *
 * @param idleMillis how long the caller may say nothing, in milliseconds; 0 is for ever
 */
export const talk = Effect.fnUntraced(function* (
  socket: Socket.Socket,
  conversationSessionId: string,
  idleMillis: number,
) {
  const conversations = yield* Conversations
  const reader = yield* socket.reader
  const writer = yield* socket.writer
  const room = yield* Semaphore.make(HELD_BYTES)
  let heardAt = yield* Clock.currentTimeMillis
  let texts = { left: TEXT_BURST, at: heardAt }
  const held = yield* Queue.bounded<{ readonly frame: Uint8Array; readonly due: number }>(HELD_FRAMES)
  /** the audio that the caller has not paused after: when it began, and when it was last heard */
  let speech: { readonly since: number; heard: number } | undefined

  // A turn that could not be written down does not end the call.
  const record = (...said: ReadonlyArray<Said>) => Effect.ignore(conversations.say(conversationSessionId, said))
  /** Answers what the caller said. */
  const answer = Effect.fnUntraced(function* (caller: string, text: string) {
    yield* record({ role: "caller", text: caller }, { role: "agent", text })
    yield* writer.write(JSON.stringify({ type: "message", role: "agent", text }))
  })

  const close = Effect.fnUntraced(function* (code: number, closeReason: string) {
    yield* writer.write(new Socket.CloseEvent(code, closeReason))
    return yield* new Socket.SocketError({ reason: new Socket.SocketCloseError({ code, closeReason }) })
  })

  /** Uses one of the caller's texts. */
  const countText = (now: number): boolean => {
    const left = Math.min(TEXT_BURST, texts.left + ((now - texts.at) / 1000) * TEXTS_PER_SECOND)
    texts = { left: Math.max(0, left - 1), at: now }
    return left >= 1
  }

  const hear = Effect.fnUntraced(function* (frame: string | Uint8Array) {
    const now = yield* Clock.currentTimeMillis
    heardAt = now
    if (typeof frame !== "string") {
      speech = speech === undefined ? { since: now, heard: now } : { ...speech, heard: now }
      yield* room.take(frame.length)
      yield* Queue.offer(held, { frame, due: now + ECHO_DELAY_MILLIS })
      return
    }
    if (!countText(now)) return yield* close(1008, `more than ${TEXTS_PER_SECOND} text messages a second`)
    const text = textOf(frame)
    yield* answer(text, `You wrote: ${text}`)
  })
  const listen = Effect.flatMap(reader.pull, (frames) => Effect.forEach(frames, hear, { discard: true }))

  const echo = Effect.gen(function* () {
    const { frame, due } = yield* Queue.take(held)
    const wait = due - (yield* Clock.currentTimeMillis)
    if (wait > 0) yield* Effect.sleep(wait)
    yield* writer.write(frame)
    yield* room.release(frame.length)
  })

  const everyMoment = Effect.gen(function* () {
    yield* Effect.sleep(PAUSE_MILLIS / 3)
    const now = yield* Clock.currentTimeMillis
    if (idleMillis > 0 && now - heardAt >= idleMillis) {
      return yield* close(1000, `nothing was said for ${idleMillis / 1000} s`)
    }
    if (speech === undefined || now - speech.heard < PAUSE_MILLIS) return
    const seconds = ((speech.heard - speech.since) / 1000).toFixed(1)
    speech = undefined
    yield* answer(`(${seconds} s of audio)`, `I heard ${seconds} s of audio.`)
  })

  yield* record({ role: "agent", text: GREETING })
  yield* writer.write(JSON.stringify({ type: "greeting", conversationSessionId, text: GREETING }))
  return yield* Effect.raceAllFirst([Effect.forever(listen), Effect.forever(echo), Effect.forever(everyMoment)])
})
