/** One connection's bytes to a server, and all that comes back until it closes. */
import { createConnection } from "node:net"

/**
 * Sends the bytes, waits a moment for an answer, and ends the connection's own half then.
 *
 * @param serverCloses the server is asked to close the connection after its last answer, so this side waits for that
 * @returns everything that was answered, as Latin-1
 */
export const exchange = (port: number, bytes: Buffer | string, serverCloses = false): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = createConnection({ host: "127.0.0.1", port })
    let answered = ""
    const timer = serverCloses ? undefined : setTimeout(() => socket.end(), 250)
    socket.setTimeout(20_000, () => socket.destroy(new Error("the server neither answers nor closes")))
    socket.on("data", (chunk) => {
      answered += chunk.toString("latin1")
    })
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // a server that refuses may cut what it has not read
      if (error.code === "ECONNRESET" || error.code === "EPIPE") return
      reject(error)
    })
    socket.on("close", () => {
      clearTimeout(timer)
      resolve(answered)
    })
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes)
  })

/** The status of every answer in what came back. */
export const statusesOf = (answered: string): ReadonlyArray<number> =>
  [...answered.matchAll(/(?:^|\n|\})HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
