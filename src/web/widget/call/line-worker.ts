/** The line of a call in a worker: one call, then the page ends the worker. */
import { type Line, type LineEvent, type LineRequest, openLine } from "./line.ts"

/** From the page: opens the line, sends a text, or hangs up. */
export type ToWorker = LineRequest | { readonly send: string } | "hang-up"
/** To the page: first of all that the worker runs. */
export type FromWorker = "ready" | LineEvent

export const serveLine = (): void => {
  const post = (message: FromWorker): void => globalThis.postMessage(message)
  let line: Line | undefined
  globalThis.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data === "hang-up") line?.hangUp()
    else if ("send" in data) line?.send(data.send)
    else line = openLine(data, post)
  }
  post("ready")
}
