/**
 * The reference server for push: bare `ws` connections, and bare publish-and-send over Redis.
 *
 *     node scripts/bench/servers/ws.ts redis://…
 *
 * `POST /tick` sends every connection its position; `POST /publish` publishes to Redis, and the received message is sent to the
 * connection that has waited the longest, like a start call.
 */
import { createServer } from "node:http"
import { Redis } from "ioredis"
import { type WebSocket, WebSocketServer } from "ws"

const url = process.argv[2] ?? ""
const publisher = new Redis(url)
const subscriber = new Redis(url)
const waiting = new Set<WebSocket>()

let shift = 0
const tick = (): void => {
  shift++
  let position = 0
  for (const ws of waiting) {
    position++
    ws.send(
      JSON.stringify({ type: "position", position, queueLength: waiting.size + shift, estimatedWaitSeconds: null }),
    )
  }
}

const server = createServer((request, response) => {
  if (request.url === "/tick") tick()
  else if (request.url === "/publish") publisher.publish("calls", "next")
  response.end()
})
new WebSocketServer({ server, perMessageDeflate: false, clientTracking: false }).on("connection", (ws) => {
  waiting.add(ws)
  ws.on("close", () => waiting.delete(ws))
  ws.send(JSON.stringify({ type: "position", position: waiting.size, queueLength: 0, estimatedWaitSeconds: null }))
})
subscriber.on("message", () => {
  const [first] = waiting
  if (first === undefined) return
  waiting.delete(first)
  first.send(JSON.stringify({ type: "start_call", startBefore: new Date().toISOString() }))
})
await subscriber.subscribe("calls")
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") console.log(`listens at http://127.0.0.1:${address.port}`)
})
