/**
 * A connection in memory: node writes an HTTP/1.1 response to it, and it becomes a web `Response`. The body is passed on as fast as it is
 * read; a client that stops reading is noticed like one on a slow network.
 */
import { Socket } from "node:net"

/** How much of a body is kept for a reader who is slower than the gate. */
const BUFFER_BYTES = 64 * 1024
const END_OF_HEAD = "\r\n\r\n"
/** Headers about the connection, which the host's own server decides. */
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding"])
/** Statuses whose responses have no body; `Response` refuses one. */
const WITHOUT_BODY = new Set([204, 205, 304])

type Done = (error?: Error | null) => void

export class MemorySocket extends Socket {
  /** Rejects if the connection ends before the response begins, such as when the client has disconnected. */
  readonly response: Promise<Response>
  #resolve: (response: Response) => void = () => {}
  #reject: (reason: Error) => void = () => {}
  #head: Buffer | undefined = Buffer.alloc(0)
  #body: ReadableStreamDefaultController<Uint8Array> | undefined
  /** continues writing once the reader wants more */
  #resume: (() => void) | undefined

  constructor(remoteAddress: string) {
    super()
    Object.defineProperty(this, "remoteAddress", { value: remoteAddress })
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.on("error", () => {})
  }

  override _read(): void {}

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#accept(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk, done)
  }

  override _writev(
    chunks: Array<{ readonly chunk: Buffer | string; readonly encoding: BufferEncoding }>,
    done: Done,
  ): void {
    const buffers = chunks.map(({ chunk, encoding }) =>
      typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk,
    )
    this.#accept(Buffer.concat(buffers), done)
  }

  override _final(done: Done): void {
    try {
      this.#body?.close()
    } catch {
      // the reader has already cancelled
    }
    this.#body = undefined
    done()
    this.destroy()
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#reject(error ?? new Error("The connection ended before the response."))
    this.#body?.error(error ?? new Error("The connection ended."))
    this.#resume?.()
    super._destroy(error, done)
  }

  #accept(bytes: Buffer, done: Done): void {
    const rest = this.#head === undefined ? bytes : this.#readHead(bytes)
    if (rest !== undefined && rest.length > 0) this.#body?.enqueue(new Uint8Array(rest))
    if (this.#body === undefined || (this.#body.desiredSize ?? 0) > 0) done()
    else this.#resume = done
  }

  /** Begins the response when its head is complete, and returns what follows the head. */
  #readHead(bytes: Buffer): Buffer | undefined {
    const all = Buffer.concat([this.#head ?? Buffer.alloc(0), bytes])
    this.#head = all
    const end = all.indexOf(END_OF_HEAD)
    if (end === -1) return undefined
    this.#head = undefined
    const [statusLine = "", ...lines] = all.subarray(0, end).toString("latin1").split("\r\n")
    const status = Number(statusLine.split(" ")[1])
    const headers = new Headers()
    for (const line of lines) {
      const colon = line.indexOf(":")
      const name = line.slice(0, colon)
      if (!OF_THE_CONNECTION.has(name.toLowerCase())) headers.append(name, line.slice(colon + 1).trim())
    }
    const body = WITHOUT_BODY.has(status) ? null : this.#bodyStream()
    this.#resolve(new Response(body, { status, headers }))
    return all.subarray(end + END_OF_HEAD.length)
  }

  #bodyStream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#body = controller
        },
        pull: () => {
          const resume = this.#resume
          this.#resume = undefined
          resume?.()
        },
        cancel: () => {
          this.#body = undefined
          this.destroy()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
    )
  }
}
