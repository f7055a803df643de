/** A gate with its own Redis and platform, on loopback, and callers of any address. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { Agent, createServer, request } from "node:http"
import { createServer as createTcpServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { type Server, startServer } from "../../scripts/bench/support/servers.ts"

const WEBHOOK_TOKEN = "abuse-webhook-token-0123456789"
export const SLOTS = 10

export interface Answer {
  readonly status: number
  readonly ticket: string
  readonly state: string
}

export interface Bench {
  /** Requests a call from this address. */
  readonly ask: (address: string) => Promise<Answer>
  /** @param hidden the page says that it is hidden, so a turn lasts twice as long */
  readonly state: (address: string, ticket: string, hidden?: boolean) => Promise<Answer>
  readonly start: (address: string, ticket: string) => Promise<Answer>
  /** how long new calls last (ms); 0: until `endOne` */
  talk: number
  readonly endOne: () => Promise<void>
  readonly stop: () => Promise<void>
}

const portOf = (server: { address(): unknown }): number => {
  const address = server.address()
  const port: unknown = Reflect.get(Object(address), "port")
  if (typeof port !== "number") throw new Error("a TCP server has a port")
  return port
}

const freePort = async (): Promise<number> => {
  const server = createTcpServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const port = portOf(server)
  server.close()
  await once(server, "close")
  return port
}

const stopped = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, "exit")
  child.kill("SIGTERM")
  await gone
}

const textIn = (json: unknown, field: string): string => {
  const found: unknown = Reflect.get(Object(json), field)
  return typeof found === "string" ? found : ""
}

/** Starts gate, Redis and platform; `more` overrides default settings. */
export const startBench = async (program: string, more: Readonly<Record<string, string>> = {}): Promise<Bench> => {
  const redisPort = await freePort()
  const redis = spawn("redis-server", ["--port", String(redisPort), "--bind", "127.0.0.1", "--save", ""], {
    stdio: "ignore",
  })
  let sessions = 0
  let gate: Server | undefined
  const live: Array<string> = []
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })

  const send = (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> =>
    new Promise((done, failed) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const asked = request(`${gate?.url}${path}`, {
        method,
        agent,
        headers: {
          ...headers,
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
        },
      })
      asked.on("error", failed)
      asked.on("response", (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () => {
          let json: unknown
          try {
            json = JSON.parse(Buffer.concat(chunks).toString())
          } catch {
            json = undefined
          }
          done({
            status: response.statusCode ?? 0,
            ticket: textIn(json, "uniqueRequestId"),
            state: textIn(json, "state"),
          })
        })
      })
      asked.end(text)
    })

  const end = async (session: string): Promise<void> => {
    live.splice(live.indexOf(session), 1)
    await send(
      "POST",
      "/api/webhook/session-ended",
      { "x-api-token": WEBHOOK_TOKEN },
      { ConversationSessionId: session },
    ).catch(() => undefined)
  }

  const platform = createServer((asked, response) => {
    asked.resume()
    response.setHeader("content-type", "application/json")
    // it can only start sessions
    if (asked.url?.endsWith("/initiate") !== true) {
      response.statusCode = 404
      response.end(JSON.stringify({ success: false, code: "NOT_FOUND", message: "There is no such thing here." }))
      return
    }
    const sessionId = `session-${++sessions}`
    live.push(sessionId)
    const data = { sessionWebSocketURL: "ws://127.0.0.1:9/session", sessionId }
    response.end(JSON.stringify({ success: true, data }))
    if (bench.talk > 0) setTimeout(() => void end(sessionId), bench.talk)
  }).listen(0, "127.0.0.1")
  await once(platform, "listening")

  const bench: Bench = {
    talk: 0,
    ask: (address) => send("POST", "/api/session/request", { "x-forwarded-for": address }, {}),
    state: (address, ticket, hidden = false) =>
      send("GET", `/api/session/${ticket}${hidden ? "?hidden=true" : ""}`, { "x-forwarded-for": address }),
    start: (address, ticket) => send("POST", `/api/session/${ticket}/start`, { "x-forwarded-for": address }),
    endOne: async () => {
      const [session] = live
      if (session !== undefined) await end(session)
    },
    stop: async () => {
      agent.destroy()
      await gate?.stop()
      platform.close()
      platform.closeAllConnections()
      await stopped(redis)
    },
  }
  try {
    gate = await startServer([program, "serve"], {
      StoreConnectionString: `redis://127.0.0.1:${redisPort}`,
      VoiceAiPlatform__ApiSecretToken: "abuse-platform-key",
      VoiceAiPlatform__BaseUrl: `http://127.0.0.1:${portOf(platform)}/api/v1/`,
      VoiceAiPlatform__BusinessId: "business-1",
      VoiceAiPlatform__WebCampaignId: "campaign-1",
      VoiceAiPlatform__DefaultRegionId: "eu",
      VoiceAiPlatform__MaxConcurrency: String(SLOTS),
      IpIntel__Provider: "none",
      Security__WebhookApiToken: WEBHOOK_TOKEN,
      Security__TrustedProxies__0: "loopback",
      Server__Host: "127.0.0.1",
      Server__Port: "0",
      ...more,
    })
    for (let n = 0; n < 100 && (await send("GET", "/health/ready", {})).status !== 200; n++) await sleep(100)
    return bench
  } catch (error) {
    await bench.stop()
    throw error
  }
}

/** Calls `work` `count` times with limited concurrency, until one call returns false. */
export const runConcurrently = async (
  count: number,
  limit: number,
  work: (n: number) => Promise<boolean | undefined>,
): Promise<void> => {
  let next = 0
  let going = true
  await Promise.all(
    Array.from({ length: limit }, async () => {
      while (going && next < count) if ((await work(next++)) === false) going = false
    }),
  )
}
