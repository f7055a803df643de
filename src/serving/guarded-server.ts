/** Node's HTTP server with guards that see requests, upgrades and unreadable input before its listeners do. */
import { type IncomingMessage, Server, type ServerOptions, ServerResponse, STATUS_CODES } from "node:http"
import { Socket } from "node:net"
import { Duplex } from "node:stream"
import { CompactRequest } from "./compact-body.ts"

export interface Guards {
  /** Called for every request before the server's listeners; returns whether they get it. */
  readonly request?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Returns the status with which an upgrade is refused and its connection closed; undefined when it may continue. */
  readonly upgrade?: (request: IncomingMessage) => 400 | 421 | undefined
  /** Called for every connection whose bytes could not be parsed as a request; node answers it. */
  readonly unreadable?: (error: NodeJS.ErrnoException, remoteAddress: string | undefined) => void
}

const refusalOf = (status: number): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`

const isRequest = (message: unknown): message is IncomingMessage =>
  typeof message === "object" && message !== null && "method" in message && "headers" in message

/**
 * Bodies of its requests are kept in few pieces (`compact-body.ts`).
 *
 * It overrides `emit`, because listeners cannot do this: one for `request` cannot stop the other listeners, and one for
 * `clientError` replaces node's handler, which alone knows whether a response has started.
 */
export class GuardedServer extends Server {
  private readonly guards: Guards

  constructor(options: ServerOptions, guards: Guards) {
    super({ ...options, IncomingMessage: CompactRequest })
    this.guards = guards
  }

  override emit(event: string, ...args: Array<unknown>): boolean {
    const [first, second] = args
    if (event === "request" && this.guards.request !== undefined) {
      if (isRequest(first) && second instanceof ServerResponse && !this.guards.request(first, second)) return true
    } else if (event === "upgrade" && this.guards.upgrade !== undefined) {
      const status = isRequest(first) ? this.guards.upgrade(first) : undefined
      if (status !== undefined && second instanceof Duplex) {
        second.on("error", () => second.destroy())
        // otherwise a client that does not close its side would keep the socket open forever
        second.once("finish", () => second.destroy())
        second.end(refusalOf(status))
        return true
      }
    } else if (event === "clientError" && first instanceof Error) {
      this.guards.unreadable?.(first, second instanceof Socket ? second.remoteAddress : undefined)
    }
    return super.emit(event, ...args)
  }
}
