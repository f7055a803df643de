/**
 * The reference server "express": Express with its JSON parser, CORS by hand and trusted proxies, over the two rules of `scripts.ts`. It
 * does not log and has no metrics.
 *
 *     node scripts/bench/servers/express.ts redis://…
 */
import { randomUUID } from "node:crypto"
import express from "express"
import { Redis } from "ioredis"
import { isRequest } from "./checked.ts"
import { inProcesses } from "./processes.ts"
import { awaited, byIoredis } from "./scripts.ts"

const ORIGIN = "https://shop.example"

const serve = async (): Promise<void> => {
  const { admit, limit } = awaited(await byIoredis(new Redis(process.argv[2] ?? "")))
  const app = express()
  app.set("trust proxy", "loopback")
  app.disable("x-powered-by")
  app.use((request, response, next) => {
    if (request.headers.origin === ORIGIN) response.set("access-control-allow-origin", ORIGIN).vary("origin")
    next()
  })
  app.post("/api/session/request", express.json({ limit: "64kb" }), async (request, response) => {
    if (!isRequest(request.body)) return void response.status(400).json({ error: "invalid_request" })
    const seconds = await limit(request.ip ?? "")
    if (seconds > 0) {
      response.status(429).set("retry-after", String(seconds)).json({ error: "rate_limited", retryAfter: seconds })
      return
    }
    const sessionId = randomUUID()
    const position = await admit(sessionId)
    if (position === 0) response.json({ status: "started", sessionId })
    else response.status(202).json({ status: "queued", sessionId, position })
  })
  const server = app.listen(0, "127.0.0.1", () => {
    const address = server.address()
    if (address !== null && typeof address === "object") console.log(`listens at http://127.0.0.1:${address.port}`)
  })
}

inProcesses(serve)
