/** A caller's requests to its current gate, on new connections or on kept-alive ones, as behind a proxy. */
import { connect } from "node:net"
import { type Answer, ask } from "../harness/http.ts"
import type { Caller } from "./plan.ts"
import type { Gates } from "./sessions.ts"

export class CallerClient {
  private readonly gates: Gates
  private readonly caller: Caller
  private gate: number

  constructor(gates: Gates, caller: Caller) {
    this.gates = gates
    this.caller = caller
    this.gate = caller.gate
  }

  /** Switches to the other gate. */
  move(): void {
    this.gate = 1 - this.gate
  }

  get url(): string {
    return this.gates()[this.gate]?.url ?? ""
  }

  get headers(): Readonly<Record<string, string>> {
    return { "x-forwarded-for": this.caller.address }
  }

  request(ticket: string | undefined): Promise<Answer> {
    return this.ask("POST", "/api/session/request", this.body(ticket))
  }

  start(ticket: string): Promise<Answer> {
    return this.ask("POST", `/api/session/${ticket}/start`)
  }

  leave(ticket: string): Promise<Answer> {
    return this.ask("DELETE", `/api/session/${ticket}`)
  }

  /** Sends a request and disconnects before the answer. The gate must clean up by itself. */
  hangUp(): Promise<void> {
    const { hostname, port } = new URL(this.url)
    const body = JSON.stringify(this.body(undefined))
    const head = [
      "POST /api/session/request HTTP/1.1",
      "host: gate",
      `x-forwarded-for: ${this.caller.address}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ].join("\r\n")
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(`${head}\r\n\r\n${body}`)
        setTimeout(() => socket.destroy(), this.caller.reactionMillis % 20)
      })
      socket.on("error", () => {})
      socket.on("data", () => {})
      socket.on("close", () => resolve())
    })
  }

  private ask(method: string, path: string, body?: object): Promise<Answer> {
    const agent = this.caller.keepsAlive ? this.gates()[this.gate]?.agent : undefined
    return ask(method, this.url + path, {
      headers: this.headers,
      ...(body === undefined ? {} : { body }),
      ...(agent === undefined ? {} : { agent }),
    })
  }

  private body(ticket: string | undefined): object {
    const { id } = this.caller
    return { clientIdentifier: `caller-${id}`, metadata: { caller: String(id) }, uniqueRequestId: ticket ?? null }
  }
}
