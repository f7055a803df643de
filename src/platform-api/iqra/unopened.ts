/**
 * Ends a session that nobody has opened: its address opens one WebSocket, once, so whoever opens and closes it has ended it. Works with
 * any platform whose sessions end with their WebSocket, also one that has no request for it.
 */
import { Effect } from "effect"
import { WebSocket } from "ws"

const OPEN_MILLIS = 5_000

/** True if the WebSocket opened, and is closed; false if it was refused, so somebody else has opened it, or it could not be reached. */
export const closeUnopened = (webSocketUrl: string): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = new WebSocket(webSocketUrl.replace(/^http/, "ws"), {
      handshakeTimeout: OPEN_MILLIS,
      followRedirects: false,
      perMessageDeflate: false,
    })
    socket.on("open", () => {
      socket.close(1000)
      resume(Effect.succeed(true))
    })
    // also after the answer: without a listener an error of the socket would end the process
    socket.on("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.terminate())
  }).pipe(Effect.catchDefect(() => Effect.succeed(false)))
