/**
 * A connection to a running call, besides that of its page. It is held to learn that the call is over, and to end it where the vendor has no
 * other way, and to hear who speaks. What it says is not kept: it may carry the sound of the call.
 */
import { Context, Deferred, Effect, Option, Schedule, Schema, type Scope } from "effect"
import { WebSocket } from "ws"
import type { Hears, Speech } from "../model.ts"

const OPEN_MILLIS = 5_000
/** How often a connection is pinged (ms). One that has sent nothing since the last ping is closed. */
const PING_MILLIS = 30_000
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** An event that says who speaks is shorter (bytes). */
const MAX_SPEECH_BYTES = 4 * 1024

export interface SidebandConnection {
  /** Completes when the connection has closed. True if it had said before that the call is over: a close alone does not prove that. */
  readonly closed: Effect.Effect<boolean>
  /** Nothing happens if the connection has closed. */
  readonly send: (event: object) => Effect.Effect<void>
}

/** What is heard on a connection: which speech each event means, by its `type`. */
export interface Listening {
  readonly events: ReadonlyMap<string, Speech>
  readonly hears: Hears
}

/**
 * Opens a connection for the scope. Fails with the HTTP status of a refusal, or 0 when nobody answered.
 *
 * @param overEvent the `type` of the event that says that the call is over, where the vendor has one
 */
export type OpenSideband = (
  url: string,
  headers: Readonly<Record<string, string>>,
  overEvent?: string,
  listening?: Listening,
) => Effect.Effect<SidebandConnection, number, Scope.Scope>

/** Few messages are parsed: most carry sound, many times a second. */
const typeOf = (message: Buffer): string | undefined => Option.getOrUndefined(decodeEvent(message.toString()))?.type

/** Only a message that contains the name is parsed. */
const isEvent = (message: Buffer, name: string): boolean => message.includes(name) && typeOf(message) === name

/** What a message says of who speaks; undefined of any other. */
const speechIn = (message: Buffer, events: Listening["events"]): Speech | undefined => {
  if (message.length > MAX_SPEECH_BYTES) return undefined
  for (const [name, speech] of events) if (isEvent(message, name)) return speech
  return undefined
}
const decodeEvent = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ type: Schema.String })))

const connect = (url: string, headers: Readonly<Record<string, string>>, closed: Deferred.Deferred<void>) =>
  Effect.callback<WebSocket, number>((resume) => {
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: OPEN_MILLIS,
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    })
    socket.on("open", () => resume(Effect.succeed(socket)))
    socket.on("unexpected-response", (request, response) => {
      resume(Effect.fail(response.statusCode ?? 0))
      request.destroy()
    })
    socket.on("close", () => {
      Deferred.doneUnsafe(closed, Effect.void)
      resume(Effect.fail(0))
    })
    // also after it has opened: without a listener an error of the socket would end the process
    socket.on("error", () => resume(Effect.fail(0)))
    return Effect.sync(() => socket.terminate())
  }).pipe(Effect.catchDefect(() => Effect.fail(0)))

const open: OpenSideband = Effect.fnUntraced(function* (url, headers, overEvent, listening) {
  const closed = yield* Deferred.make<void>()
  const socket = yield* Effect.acquireRelease(
    connect(url, headers, closed),
    (opened) => Effect.sync(() => opened.close(1000)),
    { interruptible: true },
  )
  let heard = true
  let isOver = false
  socket.on("message", (message) => {
    heard = true
    if (!Buffer.isBuffer(message)) return
    if (overEvent !== undefined && isEvent(message, overEvent)) isOver = true
    const speech = listening && speechIn(message, listening.events)
    if (speech !== undefined) listening?.hears(speech)
  })
  socket.on("pong", () => {
    heard = true
  })
  yield* Effect.sync(() => {
    if (!heard) return socket.terminate()
    heard = false
    if (socket.readyState === WebSocket.OPEN) socket.ping()
  }).pipe(Effect.schedule(Schedule.spaced(PING_MILLIS)), Effect.forkScoped)
  return {
    closed: Effect.map(Deferred.await(closed), () => isOver),
    send: (event) =>
      Effect.sync(() => {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event))
      }),
  }
})

/** How connections to calls are opened. A test gives its own. */
export const Sideband: Context.Reference<OpenSideband> = Context.Reference("voicegate/platform-api/Sideband", {
  defaultValue: () => open,
})
