/** Sends cases over connections: sound ones pipelined on one that is kept, the others each on one of their own. */
import { createConnection, type Socket } from "node:net"
import type { Case } from "./cases.ts"
import { Reader, type Response } from "./reader.ts"

/** How long a connection may stay silent that owes an answer, or is done for; a busy machine needs much. */
const PATIENCE_MILLIS = 120_000

export interface Outcome {
  /** answers that belong to the n-th case sent */
  readonly answered: (index: number, response: Response) => void
  /** it owed an answer, or should have closed, and did nothing */
  readonly silent: (index: number) => void
  /** the answers make no sense */
  readonly garbled: (index: number, error: unknown) => void
}

/** A connection that is used again until the server closes it. */
export class Kept {
  private readonly port: number
  private socket: Socket | undefined

  constructor(port: number) {
    this.port = port
  }

  /** Writes all at once; resolves, when all are answered or the connection is gone, with how many answers came. */
  send(cases: ReadonlyArray<Case>, { answered, garbled, silent }: Outcome): Promise<number> {
    return new Promise((resolve) => {
      const socket = this.socket ?? createConnection({ host: "127.0.0.1", port: this.port })
      const reader = new Reader((n) => cases[n]?.method === "HEAD")
      let got = 0
      const done = (keep: boolean): void => {
        socket.removeAllListeners()
        socket.setTimeout(0)
        socket.on("error", () => {})
        // the server may close it while it rests
        socket.on("close", () => {
          if (this.socket === socket) this.socket = undefined
        })
        this.socket = keep && !socket.destroyed ? socket : undefined
        if (!keep) socket.destroy()
        resolve(got)
      }
      socket.on("data", (chunk) => {
        try {
          for (const response of reader.feed(chunk)) {
            answered(got, response)
            got++
            if (response.head.includes("\r\nconnection: close")) return done(false)
          }
        } catch (error) {
          garbled(got, error)
          return done(false)
        }
        if (got >= cases.length) done(true)
      })
      socket.on("error", () => done(false))
      socket.on("close", () => done(false))
      socket.setTimeout(PATIENCE_MILLIS, () => {
        silent(got)
        done(false)
      })
      socket.write(Buffer.concat(cases.map(({ bytes }) => bytes)))
    })
  }

  close(): void {
    this.socket?.destroy()
  }
}

/** How long a server may take to start its answer before the request's side is closed. */
const ANSWER_MILLIS = 100

/**
 * Sends one case, says that nothing more will come once there is an answer (or at once, as who hangs up), and reads until the
 * server has closed.
 */
export const sendAlone = (port: number, { bytes, n }: Case, { answered, garbled, silent }: Outcome): Promise<void> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port })
    const timer = setTimeout(() => socket.end(), n % 5 === 0 ? 0 : ANSWER_MILLIS)
    const reader = new Reader(() => false)
    let broken = false
    socket.on("data", (chunk) => {
      setImmediate(() => socket.end())
      if (broken) return
      try {
        for (const response of reader.feed(chunk)) answered(0, response)
      } catch (error) {
        // HTTP/0.9 and the like are answered in kind; only what is no HTTP at all is of interest
        broken = true
        garbled(0, error)
      }
    })
    socket.on("error", () => {})
    socket.on("close", () => {
      clearTimeout(timer)
      resolve()
    })
    socket.setTimeout(PATIENCE_MILLIS, () => {
      silent(0)
      socket.destroy()
    })
    socket.write(bytes)
  })
