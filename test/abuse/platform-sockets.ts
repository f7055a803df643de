/**
 * Measures what one session socket of the local platform can cost: starts the built platform on a free port and attacks it for some
 * seconds. Prints the platform's resident memory and the latency of an honest request, each second.
 *
 *     node test/abuse/platform-sockets.ts --attack unread|text|ping|empty|none [--seconds 20] [--sockets 1] [--dist dist]
 *
 * unread: 64 KiB audio frames without reading. text: text frames of 10 bytes. ping: pings. empty: empty audio frames. All are sent
 * as fast as the platform accepts them. Everything is stopped and deleted at the end.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs, promisify } from "node:util"
import { WebSocket } from "ws"

const { values } = parseArgs({
  options: {
    attack: { type: "string", default: "none" },
    seconds: { type: "string", default: "20" },
    sockets: { type: "string", default: "1" },
    dist: { type: "string", default: "dist" },
  },
})
const seconds = Math.min(60, Number(values.seconds))
const sockets = Math.min(8, Number(values.sockets))

const EMAIL = "owner@example.com"
const PASSWORD = "a password of this attack only"

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return address.port
}

const field = (value: unknown, ...path: ReadonlyArray<string>): string => {
  let found: unknown = value
  for (const name of path) found = Object(found)[name]
  if (typeof found !== "string") throw new Error(`no ${path.join(".")} in ${JSON.stringify(value)}`)
  return found
}

const dir = await mkdtemp(join(tmpdir(), "voicegate-attack-"))
const port = await freePort()
const origin = `http://127.0.0.1:${port}`
const main = join(values.dist, "main.js")
const database = ["--database", `sqlite:${join(dir, "platform.db")}`]
const env = { ...process.env, VOICEGATE_PLATFORM_PASSWORD: PASSWORD }
await promisify(execFile)(process.execPath, [main, "platform", "user", "add", ...database, "--email", EMAIL], { env })
const platform = spawn(
  process.execPath,
  [main, "platform", ...database, "--port", String(port), "--region", "eu", "--requests-per-minute", "0"],
  { env, stdio: ["ignore", "ignore", "inherit"] },
)
await once(platform, "spawn")

const residentMegabytes = async (): Promise<number> => {
  const status = await readFile(`/proc/${platform.pid}/status`, "utf8")
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024)
}

const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  const answer: unknown = await response.json()
  return { answer, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" }
}

try {
  while (
    !(await fetch(`${origin}/openapi.json`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(50)
  const { cookie } = await post("/dashboard/api/session", { email: EMAIL, password: PASSWORD }, { origin })
  const signedIn = { cookie, origin }
  const business = await post("/dashboard/api/businesses", { name: "Attacked" }, signedIn)
  const businessId = field(business.answer, "id")
  const campaign = await post(`/dashboard/api/businesses/${businessId}/campaigns`, { name: "Web" }, signedIn)
  const key = await post("/dashboard/api/keys", { name: "attack", scope: { type: "Unrestricted" } }, signedIn)
  const authorization = `Token ${field(key.answer, "secret")}`
  const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
  const open = async (): Promise<WebSocket> => {
    const { answer } = await post(
      `/api/v1/business/${businessId}/websession/initiate`,
      {
        transportType: 0,
        webCampaignId: field(campaign.answer, "id"),
        regionId: "eu",
        audioInputConfiguration: audio,
        audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
      },
      { authorization },
    )
    const socket = new WebSocket(field(answer, "data", "sessionWebSocketURL"))
    socket.on("error", () => {})
    await once(socket, "open")
    return socket
  }

  const closed: Array<string> = []
  const attack = async (until: number): Promise<void> => {
    const socket = await open()
    socket.on("close", (code, reason) => closed.push(`${code} ${reason}`))
    if (values.attack === "unread") socket.pause()
    const frame = Buffer.alloc(64 * 1024)
    while (performance.now() < until && socket.readyState === WebSocket.OPEN) {
      // as much as the kernel buffers
      if (socket.bufferedAmount > 1024 * 1024) {
        await sleep(1)
        continue
      }
      if (values.attack === "unread") socket.send(frame)
      else if (values.attack === "none") await sleep(100)
      else {
        for (let i = 0; i < 1_000; i++) {
          if (values.attack === "text") socket.send("ten bytes!")
          else if (values.attack === "ping") socket.ping()
          else socket.send(frame.subarray(0, 0))
        }
        await sleep(0)
      }
    }
    socket.resume()
    await sleep(200)
    socket.terminate()
  }

  const until = performance.now() + seconds * 1000
  const attacks = Promise.all(Array.from({ length: values.attack === "none" ? 0 : sockets }, () => attack(until)))
  console.log(`before: ${await residentMegabytes()} MB`)
  let longest = 0
  let most = 0
  const waits: Array<number> = []
  while (performance.now() < until) {
    const began = performance.now()
    await fetch(`${origin}/api/v1/business`, { headers: { authorization } }).then((response) => response.text())
    const wait = performance.now() - began
    waits.push(wait)
    longest = Math.max(longest, wait)
    most = Math.max(most, await residentMegabytes())
    await sleep(100)
  }
  await attacks
  waits.sort((a, b) => a - b)
  const median = waits[Math.floor(waits.length / 2)] ?? 0
  console.log(`${values.attack}, ${sockets} socket(s), ${seconds} s: memory at most ${most} MB`)
  console.log(
    `an honest request: median ${median.toFixed(1)} ms, longest ${longest.toFixed(0)} ms, ${waits.length} made`,
  )
  console.log(`closed by the platform: ${closed.join(", ") || "none"}`)
} finally {
  platform.kill("SIGKILL")
  await rm(dir, { recursive: true, force: true })
}
