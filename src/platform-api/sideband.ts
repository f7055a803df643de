/**
 * A connection to a running call, besides that of its page. It is held to learn that the call is over; what it says is not read.
 */
import { Context, Deferred, Effect, Schedule, type Scope } from "effect"
import { WebSocket } from "ws"

/** How long opening may take (ms). */
const OPEN_MILLIS = 5_000
/** How often a connection is pinged (ms). One that has sent nothing since the last ping is closed. */
const PING_MILLIS = 30_000
/** The longest message that is accepted, in bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

/**
 * Opens a connection for the scope; the result completes when it has closed. Fails with the HTTP status of a refusal, or 0 when nobody
 * answered.
 */
export type OpenSideband = (
  url: string,
  headers: Readonly<Record<string, string>>,
) => Effect.Effect<Effect.Effect<void>, number, Scope.Scope>

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

const open: OpenSideband = Effect.fnUntraced(function* (url, headers) {
  const closed = yield* Deferred.make<void>()
  const socket = yield* Effect.acquireRelease(
    connect(url, headers, closed),
    (opened) => Effect.sync(() => opened.close(1000)),
    { interruptible: true },
  )
  let heard = true
  const hear = (): void => {
    heard = true
  }
  socket.on("message", hear)
  socket.on("pong", hear)
  yield* Effect.sync(() => {
    if (!heard) return socket.terminate()
    heard = false
    if (socket.readyState === WebSocket.OPEN) socket.ping()
  }).pipe(Effect.schedule(Schedule.spaced(PING_MILLIS)), Effect.forkScoped)
  return Deferred.await(closed)
})

/** How connections to calls are opened. A test gives its own. */
export const Sideband: Context.Reference<OpenSideband> = Context.Reference("voicegate/platform-api/Sideband", {
  defaultValue: () => open,
})
