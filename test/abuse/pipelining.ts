/**
 * Measures the cost for others of a client that pipelines requests and never reads: the slowest honest answer, in milliseconds.
 * Run it against your own server on loopback:
 *
 *   node test/abuse/pipelining.ts --url http://127.0.0.1:8080 --path /docs [--seconds 15]
 */
import { connect, type Socket } from "node:net"
import { parseArgs } from "node:util"

/** Requests in one burst; with short headers they fit into 60 KB. */
const REQUESTS = 1_500
const BURST_EVERY_MILLIS = 6_000
const HONEST_EVERY_MILLIS = 100

const { values } = parseArgs({
  options: {
    url: { type: "string", default: "http://127.0.0.1:8080" },
    path: { type: "string", default: "/docs" },
    honest: { type: "string", default: "/health/live" },
    seconds: { type: "string", default: "15" },
  },
})
const target = new URL(values.url)
if (!["127.0.0.1", "localhost", "[::1]"].includes(target.hostname))
  throw new Error("--url: Expected a loopback address.")

const request = `GET ${values.path} HTTP/1.1\r\nHost: ${target.hostname}\r\n\r\n`
const sockets: Array<Socket> = []
const burst = (): void => {
  const socket = connect(Number(target.port), target.hostname.replace(/^\[|\]$/g, ""))
  socket.on("error", () => {})
  socket.pause()
  socket.write(request.repeat(REQUESTS))
  sockets.push(socket)
}

try {
  await fetch(new URL(values.honest, target))
} catch {
  console.error(
    `Nothing answers at ${target.origin}. Start the server to attack first, such as: node dist/main.js demo`,
  )
  process.exit(1)
}

const times: Array<number> = []
const ask = async (): Promise<void> => {
  const began = performance.now()
  try {
    await fetch(new URL(values.honest, target)).then((response) => response.text())
    times.push(performance.now() - began)
  } catch (error) {
    console.error(`an honest request failed: ${error}`)
  }
}

const end = performance.now() + Number(values.seconds) * 1_000
const pending: Array<Promise<void>> = []
for (let n = 0; n < 5; n++) await ask()
const quiet = Math.max(...times.splice(1))
times.length = 0
burst()
const bursts = setInterval(burst, BURST_EVERY_MILLIS)
while (performance.now() < end) {
  pending.push(ask())
  await new Promise((resolve) => setTimeout(resolve, HONEST_EVERY_MILLIS))
}
clearInterval(bursts)
await Promise.all(pending)
for (const socket of sockets) socket.destroy()
times.sort((a, b) => a - b)
const shown = (millis: number | undefined): string => `${(millis ?? Number.NaN).toFixed(1)} ms`
console.log(
  `${values.path}: ${sockets.length} bursts of ${REQUESTS} requests (${request.length * REQUESTS} bytes); ` +
    `honest requests: ${times.length}, median ${shown(times[times.length >> 1])}, slowest ${shown(times.at(-1))}; before: ${shown(quiet)}`,
)
