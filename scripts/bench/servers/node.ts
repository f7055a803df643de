/** A minimal node server, the reference for the gate's start time. */
import { createServer } from "node:http"

const server = createServer((_, response) => response.end("ok"))
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") console.log(`listens at http://127.0.0.1:${address.port}`)
})
