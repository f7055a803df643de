/** A connection of the push channel that buffers events until its transport is open. */

import { Effect } from "effect"
import type { PushEvent } from "../../protocol/events.ts"
import type { CloseReason, Connection } from "../../push-channel/PushChannel.ts"

export interface Transport {
  readonly write: (event: PushEvent, text: string) => void
  readonly backlog: () => number
  readonly ping: () => boolean
  readonly isAnswered?: () => boolean
  readonly close: (reason: CloseReason) => void
}

/** A class, because closures would take twice the memory, and there may be ten thousand of them. */
export class BufferedConnection implements Connection {
  private transport: Transport | undefined = undefined
  private closed: CloseReason | undefined = undefined
  private buffer: Array<readonly [PushEvent, string]> | undefined = []
  /** starts that the client has requested and that are not answered yet */
  private pendingStarts = 0
  /** to be closed when they are answered */
  private draining = false

  send(event: PushEvent, text: string): void {
    if (event.type === "reconnect" && this.pendingStarts > 0) this.buffer = [...(this.buffer ?? []), [event, text]]
    else if (this.transport === undefined) this.buffer?.push([event, text])
    else this.transport.write(event, text)
  }

  backlog(): number {
    return this.transport?.backlog() ?? 0
  }

  ping(): boolean {
    return this.transport?.ping() ?? true
  }

  isAnswered(): boolean {
    return this.transport?.isAnswered?.() ?? true
  }

  close(reason: CloseReason): void {
    if (reason === "shutdown" && this.pendingStarts > 0) {
      this.draining = true
      return
    }
    this.closed = reason
    this.transport?.close(reason)
  }

  open(to: Transport): void {
    this.transport = to
    this.flush(to)
    if (this.closed !== undefined) to.close(this.closed)
  }

  /** Keeps the connection open until this start is answered, because the client waits for the answer on it. */
  whileStarting(start: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.pendingStarts++
      return Effect.ensuring(
        start,
        Effect.sync(() => {
          if (--this.pendingStarts > 0 || !this.draining) return
          if (this.transport !== undefined) this.flush(this.transport)
          this.close("shutdown")
        }),
      )
    })
  }

  private flush(to: Transport): void {
    for (const [event, text] of this.buffer ?? []) to.write(event, text)
    this.buffer = undefined
  }
}
