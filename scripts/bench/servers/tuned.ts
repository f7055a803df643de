/**
 * The reference server "tuned": what a good engineer writes by hand for speed. node:http; the fields checked by hand; headers as lists;
 * one write an answer; texts put together without `JSON.stringify`. It checks no origin and no address, logs nothing and counts nothing.
 *
 *     node scripts/bench/servers/tuned.ts redis://…
 *
 * `CLIENT=raw` uses the client of `raw-redis.ts` in place of ioredis.
 */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Redis } from "ioredis"
import { isRequest } from "./checked.ts"
import { inProcesses } from "./processes.ts"
import { byRawClient } from "./raw-redis.ts"
import { byIoredis } from "./scripts.ts"

const MAX_VERDICTS = 100_000

/** Whether an address may call, remembered in two generations: a single map that evicts one entry at a time is slower. */
const makeVerdicts = (judge: (address: string) => boolean) => {
  let young = new Map<string, boolean>()
  let old = new Map<string, boolean>()
  return (address: string): boolean => {
    const known = young.get(address)
    if (known !== undefined) return known
    const verdict = old.get(address) ?? judge(address)
    if (young.size >= MAX_VERDICTS / 2) {
      old = young
      young = new Map()
    }
    young.set(address, verdict)
    return verdict
  }
}

const send = (response: ServerResponse, status: number, body: string, retryAfter?: number): void => {
  const headers = ["content-type", "application/json", "content-length", String(body.length)]
  if (retryAfter !== undefined) headers.push("retry-after", String(retryAfter))
  response.writeHead(status, headers)
  response.end(body, "latin1")
}

const callerOf = (request: IncomingMessage): string => {
  const forwarded = request.headers["x-forwarded-for"]
  if (typeof forwarded !== "string") return request.socket.remoteAddress ?? ""
  const comma = forwarded.indexOf(",")
  return comma < 0 ? forwarded : forwarded.slice(0, comma)
}

const parsed = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const serve = async (): Promise<void> => {
  const url = process.argv[2] ?? ""
  const { admit, limit } = process.env.CLIENT === "raw" ? await byRawClient(url) : await byIoredis(new Redis(url))
  const mayCall = makeVerdicts(() => true)

  const answer = (request: IncomingMessage, response: ServerResponse, text: string) => {
    if (!isRequest(parsed(text))) return send(response, 400, '{"error":"invalid_request"}')
    const caller = callerOf(request)
    if (!mayCall(caller)) return send(response, 403, '{"error":"forbidden"}')
    limit(caller, (error, seconds) => {
      if (error) return send(response, 500, '{"error":"internal"}')
      if (seconds > 0) return send(response, 429, `{"error":"rate_limited","retryAfter":${seconds}}`, seconds)
      const id = randomUUID()
      admit(id, (failed, position) => {
        if (failed) send(response, 500, '{"error":"internal"}')
        else if (position === 0) send(response, 200, `{"status":"started","sessionId":"${id}"}`)
        else send(response, 202, `{"status":"queued","sessionId":"${id}","position":${position}}`)
      })
    })
  }

  const server = createServer((request, response) => {
    if (request.method !== "POST" || request.url !== "/api/session/request") {
      return send(response, 404, '{"error":"not_found"}')
    }
    let body: Buffer | undefined
    request.on("data", (chunk: Buffer) => {
      body = body === undefined ? chunk : Buffer.concat([body, chunk])
    })
    request.on("end", () => answer(request, response, body === undefined ? "" : body.toString()))
  })
  server.listen(0, "127.0.0.1", 1024, () => {
    const address = server.address()
    if (address !== null && typeof address === "object") console.log(`listens at http://127.0.0.1:${address.port}`)
  })
}

inProcesses(serve)
