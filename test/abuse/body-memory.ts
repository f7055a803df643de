/**
 * Measures the memory that bodies of requests cost, at every route of the gate, its console, the local platform and its dashboard, and on
 * the gate's WebSockets. The routes are those of the OpenAPI documents that the programs serve, and of the dashboard's definition. Prints a Markdown table.
 *
 *     npm run build && node test/abuse/body-memory.ts [--connections 200] [--route TEXT]
 *
 * Each connection sends a body in chunks of one byte and does not end it. At the gate, twelve bodies that are complete come before it, behind an event stream
 * that nobody reads. "held" is the heap and the buffers after a collection, less what the same connections hold with their headers alone;
 * "resident" is the most that the process grew meanwhile. Exits with 1 if a route holds more than twice the bytes that were sent.
 *
 * It starts the built programs with a Redis of their own on loopback, and stops them.
 */
import { readFile } from "node:fs/promises"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { OpenApi } from "effect/http-api"
import { DashboardApi } from "../../src/platform/http/DashboardApi.ts"
import { MAX_PIECES } from "../../src/serving/compact-body.ts"
import { startTargets, type Target } from "../fuzz/targets.ts"
import { ask, textOf } from "../harness/http.ts"

const { values } = parseArgs({
  options: { connections: { type: "string", default: "200" }, route: { type: "string", default: "" } },
})
const connections = Math.min(1_000, Number(values.connections))

/** What a body may hold in memory of the bytes that were sent. */
const MOST = 2
/** Less grows without any body: what a collection leaves behind differs by some 100 kB from one to the next. */
const NOISE_BYTES = 1024 * 1024
/** How many bodies a connection sends to a route that is not the last, behind an event stream. */
const PIPELINED = 12

interface Route {
  readonly method: string
  readonly path: string
}

/** The routes of an OpenAPI document. A parameter becomes `x`. */
const routesOf = (document: unknown): ReadonlyArray<Route> =>
  Object.entries(Object(Reflect.get(Object(document), "paths"))).flatMap(([path, methods]) =>
    Object.keys(Object(methods))
      .filter((method) => /^(?:get|post|put|patch|delete)$/.test(method))
      .map((method) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, "x") })),
  )

const servedBy = async ({ port }: Target, path: string): Promise<ReadonlyArray<Route>> => {
  const answer = await ask("GET", `http://127.0.0.1:${port}${path}`)
  const routes = routesOf(JSON.parse(answer.text))
  if (routes.length === 0) throw new Error(`${path} has no routes`)
  return routes
}

const head = ({ method, path }: Route): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-for: 192.0.2.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`
const inPieces = (count: number): string => "1\r\n1\r\n".repeat(count)

const residentOf = async ({ process }: Target): Promise<number> => {
  const status = await readFile(`/proc/${process.pid}/status`, "utf8")
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024
}

const open = async (target: Target, first: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(target.port, "127.0.0.1", () => resolve(socket))
    socket.once("error", reject)
    socket.on("error", () => {})
    socket.pause()
    socket.write(first)
  })

const heldBy = async (target: Target): Promise<number> => {
  const { external, heap } = await target.process.memory()
  return heap + external
}

interface Measured {
  readonly sent: number
  readonly held: number
  readonly resident: number
}

/** Opens the connections with `first`, and measures what `rest` costs. */
const measure = async (target: Target, first: string, rest: Buffer): Promise<Measured> => {
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(target, first)))
  await sleep(300)
  const before = await heldBy(target)
  const residentBefore = await residentOf(target)
  let resident = 0
  let going = true
  const watching = (async () => {
    while (going) {
      resident = Math.max(resident, (await residentOf(target)) - residentBefore)
      await sleep(20)
    }
  })()
  for (const socket of sockets) socket.write(rest)
  for (let n = 0; n < 100 && sockets.some(({ destroyed, writableLength }) => !destroyed && writableLength > 0); n++)
    await sleep(50)
  await sleep(300)
  const held = (await heldBy(target)) - before
  going = false
  await watching
  for (const socket of sockets) socket.destroy()
  await sleep(200)
  return { sent: rest.length * connections, held, resident }
}

const megabytes = (bytes: number): string => (Math.max(0, bytes) / 1024 / 1024).toFixed(1)
let failed = false
const print = (name: string, { held, resident, sent }: Measured): void => {
  const ratio = held < NOISE_BYTES ? 0 : held / sent
  if (ratio > MOST) failed = true
  console.log(`| ${name} | ${megabytes(sent)} | ${megabytes(held)} | ${ratio.toFixed(2)} | ${megabytes(resident)} |`)
}

const targets = await startTargets({ store: "redis", onLine: () => {} })
try {
  const { gate, platform } = targets
  const dashboard = routesOf(OpenApi.fromApi(DashboardApi))
  const all = [
    ...(await servedBy(gate, "/openapi.json")).map((route) => ["gate", gate, route] as const),
    ...(await servedBy(gate, "/console/openapi.json")).map((route) => ["console", gate, route] as const),
    ...(await servedBy(platform, "/openapi.json")).map((route) => ["platform", platform, route] as const),
    ...dashboard.map((route) => ["dashboard", platform, route] as const),
    ["platform", platform, { method: "POST", path: "/nothing" }] as const,
  ]
  // fills the slots, so that the last one waits and has an event stream
  let ticket = ""
  for (let n = 0; n < 30; n++) {
    const answer = await ask("POST", `http://127.0.0.1:${gate.port}/api/session/request`, {
      headers: { "x-forwarded-for": `81.2.${n}.1` },
      body: {},
    })
    if (answer.status === 202) ticket = textOf(answer, "uniqueRequestId")
  }
  // from now on both have run every route once
  for (const [, target, route] of all) {
    const socket = await open(target, `${head(route)}${inPieces(10)}0\r\n\r\n`)
    await sleep(20)
    socket.destroy()
  }
  console.log("| route | MB sent | MB held | held : sent | MB resident |\n|---|--:|--:|--:|--:|")
  const pieces = Math.floor(MAX_PIECES * 0.98)
  for (const [of, target, route] of all) {
    const name = `${of}: ${route.method} ${route.path}`
    if (!name.includes(values.route)) continue
    print(name, await measure(target, head(route), Buffer.from(inPieces(pieces))))
    if (target !== gate) continue
    const stream = { method: "GET", path: `/api/session/${ticket}/events` }
    const behind = `${inPieces(pieces)}0\r\n\r\n${`${head(route)}${inPieces(pieces)}0\r\n\r\n`.repeat(PIPELINED)}${head(route)}${inPieces(pieces)}`
    print(`${name}, behind an event stream`, await measure(target, head(stream), Buffer.from(behind)))
  }
  const upgrade = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-for: 192.0.2.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`
  for (const path of [`/api/session/${ticket}/events`, "/sessionHub"]) {
    if (!path.includes(values.route)) continue
    const name = `gate: WebSocket ${path.replace(ticket, "x")}`
    // masked with zeros: a text's beginning, then continuations of a byte each, and pings
    const fragments = Buffer.from(`01810000000061${"00810000000061".repeat(4_000)}`, "hex")
    print(`${name}, fragments`, await measure(gate, upgrade(path), fragments))
    print(`${name}, pings`, await measure(gate, upgrade(path), Buffer.from("898000000000".repeat(4_000), "hex")))
  }
} finally {
  await targets.dispose()
}
if (failed) process.exitCode = 1
