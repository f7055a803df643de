/** The page of a waiting caller, which reconnects to a gate that is ready whenever its connection is closed. */
import { setTimeout as sleep } from "node:timers/promises"
import { eventually } from "../../harness/process.ts"
import type { Balancer } from "./load.ts"
import { openSocket, type Socket } from "./push.ts"

export interface Page {
  readonly ticket: string
  /** the address of the gate that it is connected to; undefined while it reconnects */
  readonly at: () => string | undefined
  /** when its connections were closed (ms), first first */
  readonly closedAt: ReadonlyArray<number>
  /** connections that were refused */
  readonly failed: ReadonlyArray<string>
  /** how often it was called */
  readonly called: () => number
  /** It reconnects no more. */
  readonly dispose: () => Promise<void>
}

const RETRY_MILLIS = 100

/** @param retries whether it tries again when it is refused, as where a gate is killed and the balancer does not know it yet */
export const openPage = async ({ pick }: Balancer, ticket: string, address: string, retries = false): Promise<Page> => {
  const closedAt: Array<number> = []
  const failed: Array<string> = []
  const sockets: Array<Socket> = []
  let at: string | undefined
  let disposed = false
  const connect = async (): Promise<void> => {
    const gate = pick()
    const socket = await openSocket(gate, ticket, { "x-forwarded-for": address })
    sockets.push(socket)
    if (disposed) return socket.dispose()
    at = gate.url
    void socket.whenClosed.then(async () => {
      at = undefined
      if (disposed) return
      closedAt.push(performance.now())
      await reconnect()
    })
  }
  const reconnect = async (): Promise<void> => {
    while (!disposed) {
      try {
        return await connect()
      } catch (error) {
        if (!retries) return void failed.push(String(error))
        await sleep(RETRY_MILLIS)
      }
    }
  }
  await connect()
  return {
    ticket,
    at: () => at,
    closedAt,
    failed,
    called: () => sockets.reduce((sum, socket) => sum + socket.count("start_call"), 0),
    dispose: async () => {
      disposed = true
      for (const socket of sockets) await socket.dispose()
    },
  }
}

/** Waits until none of the pages is connected to this gate, and all are connected. */
export const allAwayFrom = (url: string, pages: ReadonlyArray<Page>): Promise<void> =>
  eventually("all pages are connected elsewhere", () => {
    const failed = pages.flatMap((page) => page.failed)
    if (failed.length > 0) throw new Error(failed.join("\n"))
    return pages.every(({ at }) => at() !== undefined && at() !== url)
  })
