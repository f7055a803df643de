/** A call by a WebSocket that carries JSON, of a vendor that has no SDK for pages. */
import { type Fields, parse } from "../gate/json.ts"
import { capture, createPlayer, type Player, toBase64 } from "./samples.ts"
import type { Caller, VendorCall } from "./vendor.ts"

export interface SocketProtocol {
  /** samples a second, both ways */
  readonly rate: number
  readonly begin: object
  /** Whether a message says that the agent listens. */
  readonly isReady: (message: Fields) => boolean
  readonly hear: (message: Fields, player: Player) => void
  /** The message that carries the caller's sound, in base64. */
  readonly audio: (sound: string) => object
  /** What is sent before the connection is closed; nothing when absent. */
  readonly end?: object
}

/** Fails if the vendor closes before the agent listens. */
export const connectSocket = (url: URL, protocol: SocketProtocol, caller: Caller): Promise<VendorCall> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url)
    const player = createPlayer(caller, protocol.rate)
    let isReady = false
    const send = (message: object): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
    }
    caller.signal.addEventListener("abort", () => socket.close())
    socket.onopen = () => send(protocol.begin)
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      const message = parse(String(data))
      if (!isReady && protocol.isReady(message)) {
        isReady = true
        resolve({
          hangUp: () => {
            if (protocol.end !== undefined) send(protocol.end)
            socket.close(1000)
          },
        })
        capture(caller, protocol.rate, (frame) => send(protocol.audio(toBase64(frame))))
      }
      protocol.hear(message, player)
    }
    socket.onclose = ({ code, reason }) => {
      player.close()
      reject(new Error(`the vendor closed the connection: ${code} ${reason}`))
      caller.ended(code === 1006 ? "lost" : "remote")
    }
  })
