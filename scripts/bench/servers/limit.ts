/**
 * The reference server "limit": the two rules with minimal node:http and ioredis. It checks no origin, field or address, and has no
 * metrics and no log.
 *
 *     node scripts/bench/servers/limit.ts redis://…
 */
import { createServer } from "node:http"
import { inProcesses } from "./processes.ts"
import { bodyOf, makeDecide } from "./scripts.ts"

inProcesses(() => {
  const decide = makeDecide(process.argv[2] ?? "")

  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => {
      text += chunk
    })
    request.on("end", () => {
      const forwarded = request.headers["x-forwarded-for"]
      const caller = typeof forwarded === "string" ? forwarded : "127.0.0.1"
      decide(caller, JSON.stringify(JSON.parse(text)), (error, decision) => {
        if (error !== undefined || decision === undefined) {
          response.writeHead(500).end()
          return
        }
        const body = JSON.stringify(bodyOf(decision))
        if (decision.status === 429) response.setHeader("retry-after", Math.ceil(decision.resetMillis / 1000))
        response.writeHead(decision.status, {
          "content-type": "application/json; charset=utf-8",
          "content-length": Buffer.byteLength(body),
        })
        response.end(body)
      })
    })
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    if (address !== null && typeof address === "object") console.log(`listens at http://127.0.0.1:${address.port}`)
  })
})
