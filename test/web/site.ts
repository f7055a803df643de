/** Another site than the gate's, on a free port of 127.0.0.1. */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"

export interface Site {
  readonly origin: string
  readonly stop: () => Promise<void>
}

export const startSite = async (respond: RequestListener): Promise<Site> => {
  const server = createServer(respond).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return {
    origin: `http://127.0.0.1:${address.port}`,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    },
  }
}
