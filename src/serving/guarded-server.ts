/** Node's HTTP server with somebody who looks first: at requests, and at what is no request. */
import { type IncomingMessage, Server, type ServerOptions, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { Duplex } from "node:stream"

export interface Guards {
  /** Sees every request before the server's listeners do, and says whether they get it. */
  readonly request?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Says whether an upgrade may go on; else its connection is closed after a 421. */
  readonly upgrade?: (request: IncomingMessage) => boolean
  /** Hears of every connection whose bytes could not be read as a request; node answers it. */
  readonly unreadable?: (error: NodeJS.ErrnoException, remoteAddress: string | undefined) => void
}

const MISDIRECTED = "HTTP/1.1 421 Misdirected Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"

const isRequest = (message: unknown): message is IncomingMessage =>
  typeof message === "object" && message !== null && "method" in message && "headers" in message

/**
 * It overrides `emit`, since a listener cannot do either: one for `request` cannot keep the others from it, and one for
 * `clientError` takes over from node, which alone knows whether an answer is on the way.
 */
export class GuardedServer extends Server {
  private readonly guards: Guards

  constructor(options: ServerOptions, guards: Guards) {
    super(options)
    this.guards = guards
  }

  override emit(event: string, ...args: Array<unknown>): boolean {
    const [first, second] = args
    if (event === "request" && this.guards.request !== undefined) {
      if (isRequest(first) && second instanceof ServerResponse && !this.guards.request(first, second)) return true
    } else if (event === "upgrade" && this.guards.upgrade !== undefined) {
      if (isRequest(first) && second instanceof Duplex && !this.guards.upgrade(first)) {
        second.on("error", () => second.destroy())
        // a client that keeps its side open would hold it for ever otherwise
        second.once("finish", () => second.destroy())
        second.end(MISDIRECTED)
        return true
      }
    } else if (event === "clientError" && first instanceof Error) {
      this.guards.unreadable?.(first, second instanceof Socket ? second.remoteAddress : undefined)
    }
    return super.emit(event, ...args)
  }
}
