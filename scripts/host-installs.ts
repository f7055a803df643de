/**
 * What a host's installation does that needs a package registry, so no test does it:
 *
 *     node scripts/host-installs.ts [git] [next] [widget]
 *
 * - `git`: `npm install` of a bare clone of this repository's HEAD, which builds the package; then a host makes a gate.
 * - `next`: `next build`, `next dev` with both of its bundlers, and a custom server, with the packed tarball installed as a host does: as
 *   the documents say, and with `serverExternalPackages`. The page has React's hook. Next is no devDependency: it is about 340 MB, its
 *   compiler most of them, to the 800 MB of `npm ci`.
 * - `widget`: the packages that come with the widget, from the tarball of the gate and from that of the widget alone.
 *
 * Prints what was done with times and sizes, and ends with 1 at the first failure. Takes some minutes.
 */
import { execFileSync, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { WebSocket } from "ws"

const root = fileURLToPath(new URL("..", import.meta.url))
const NEXT = ["next@16.4.6", "react@19.3.1", "react-dom@19.3.1"]

const run = (cwd: string, command: string, ...args: ReadonlyArray<string>): string =>
  execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1", CI: "1" },
  })

const timed = <A>(what: string, work: () => A): A => {
  const began = performance.now()
  const result = work()
  console.log(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return result
}

const sizeOf = (path: string): string => `${run(path, "du", "-sm", ".").split("\t", 1)[0]} MB`

const write = (directory: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

const SECRET = Buffer.alloc(32, 7)
const SIGNING = `whsec_${SECRET.toString("base64")}`

/** Settings of a gate with a platform of the host's own. */
const GATE = `
  const settings = { VoiceAiPlatform: { BusinessId: "b", WebCampaignId: "c", DefaultRegionId: "r", MaxConcurrency: 1 }, Security: { WebhookApiToken: "t".repeat(32), WebhookSigningSecret: "${SIGNING}" } }
  let calls = 0
  const options = { log() {}, platform: { initiate: async () => ({ sessionIds: ["s" + ++calls], webSocketUrl: "wss://agent.example/s" }) } }`

const expect = (what: string, found: string, wanted: string): void => {
  if (found !== wanted) throw new Error(`${what}: expected ${wanted}, found ${found}`)
  console.log(`${what}: ${found}`)
}

const HOST = JSON.stringify({ name: "host", private: true, type: "module" })

const fromGit = (directory: string): void => {
  const bare = join(directory, "voicegate.git")
  run(root, "git", "clone", "--quiet", "--bare", root, bare)
  const commit = run(root, "git", "rev-parse", "HEAD").trim()
  const host = join(directory, "host")
  write(host, {
    "package.json": HOST,
    "host.js": `import { createGate } from "voicegate"${GATE}
      const gate = await createGate(settings, options)
      console.log(typeof gate.handler)
      await gate.close()`,
  })
  timed("npm install from git", () => run(host, "npm", "install", `git+${pathToFileURL(bare).href}#${commit}`))
  console.log(`installed: ${sizeOf(join(host, "node_modules"))}`)
  expect("a host of it makes a gate", run(host, process.execPath, "host.js").trim(), "function")
  expect(
    "its command line",
    String(/\d+\.\d+\.\d+/.test(run(host, "npx", "--no-install", "voicegate", "--version"))),
    "true",
  )
}

/** How a host has the gate and the widget in Next: from which package the page has the hook, and Next's settings. */
const NEXT_WAYS = {
  "Next without a setting": { hook: "voicegate/widget/react", config: "" },
  "Next with serverExternalPackages": {
    hook: "voicegate-widget/react",
    config: 'serverExternalPackages: ["voicegate"],',
  },
}

/** A page with the hook, a route handler with `gate.fetch`, and a custom server that mounts the gate before Next's pages. */
const nextHost = ({ config, hook }: (typeof NEXT_WAYS)[keyof typeof NEXT_WAYS]) => ({
  "package.json": HOST,
  // the route's gate is that of the process
  "gate.js": `import { createGate } from "voicegate"${GATE}
    export const gate = () => (globalThis.gate ??= createGate(settings, { ...options, basePath: "/voice" }))`,
  "next.config.js": `export default { ${config} typescript: { ignoreBuildErrors: true } }`,
  "app/layout.js": "export default ({ children }) => <html lang='en'><body>{children}</body></html>",
  "app/page.js": `import Talk from "./talk.js"
    export default () => <p>the host's page <Talk /></p>`,
  "app/talk.js": `"use client"
    import { useVoiceAgent } from "${hook}"
    export default function Talk() {
      const [state, agent] = useVoiceAgent({ gate: "/voice" })
      return <button onClick={agent.begin}>{"hook: " + state.name}</button>
    }`,
  "app/voice/[...path]/route.js": `import { gate } from "../../../gate.js"
    export const dynamic = "force-dynamic"
    const answer = async (request) => (await gate()).fetch(request, { address: "203.0.113.1" })
    export { answer as GET, answer as POST, answer as DELETE }`,
  "server.js": `import { createServer } from "node:http"
    import next from "next"
    import { gate } from "./gate.js"
    const mounted = process.argv[2] === "mounted"
    const app = next({ dev: false })
    await app.prepare()
    const pages = app.getRequestHandler()
    const { close, handler, upgrade } = await gate()
    const server = createServer((request, response) => mounted ? handler(request, response, () => pages(request, response)) : pages(request, response))
    if (mounted) server.on("upgrade", upgrade)
    process.once("SIGTERM", async () => {
      await close()
      process.exit(0)
    })
    server.listen(0, "127.0.0.1", () => console.log("listens " + server.address().port))`,
})

type Json = Readonly<Record<string, unknown>>

/** Waits until a stream has this text. */
const readUntil = async (reader: ReadableStreamDefaultReader<string>, text: string): Promise<void> => {
  for (let seen = ""; !seen.includes(text); ) {
    const { done, value } = await reader.read()
    if (done) throw new Error(`the events end without ${text}: ${seen}`)
    seen += value
  }
}

const signed = (body: string): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac("sha256", SECRET).update(`msg_1.${timestamp}.${body}`).digest("base64")
  return { "webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` }
}

/** The first message of a WebSocket, after `said` was sent. */
const firstMessage = async (url: string, said?: string): Promise<string> => {
  const socket = new WebSocket(url)
  try {
    const message = once(socket, "message")
    await once(socket, "open")
    if (said !== undefined) socket.send(said)
    return String((await message)[0])
  } finally {
    socket.terminate()
  }
}

/** Walks through everything that a host must pass on, with a server that prints its port. Answers what was done. */
const walkThrough = async (host: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const server = spawn(process.execPath, ["server.js", ...args], { cwd: host, stdio: ["ignore", "pipe", "inherit"] })
  const exited = once(server, "exit")
  try {
    let output = ""
    let port: string | undefined
    while (port === undefined) {
      const [data]: ReadonlyArray<unknown> = await once(server.stdout, "data")
      output += String(data)
      port = /listens (\d+)/.exec(output)?.[1]
    }
    const origin = `http://127.0.0.1:${port}`
    const done: Array<string> = []
    const check = (what: string, holds: boolean): void => {
      if (!holds) throw new Error(`${what} failed in ${args[0] ?? "the route handler"}`)
      done.push(what)
    }
    const post = async (path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Json> => {
      const all = { "content-type": "application/json", ...headers }
      const answer: unknown = JSON.parse(
        await (await fetch(origin + path, { method: "POST", headers: all, body })).text(),
      )
      return Object(answer)
    }
    const request = () => post("/voice/api/session/request", "{}")
    const hook = "/voice/api/webhook/session-ended"

    const page = await (await fetch(origin)).text()
    check("page", page.includes("the host&#x27;s page") && page.includes("hook: idle"))
    check("widget", (await (await fetch(`${origin}/voice/widget.js`)).text()).includes("voice-agent"))
    const started = await request()
    check("request", started.status === "started")
    const waiting = await request()
    const stream = await fetch(origin + String(waiting.eventsUrl))
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    if (reader === undefined) throw new Error("no events")
    await readUntil(reader, "event: position")
    check("SSE", true)
    if (args.includes("mounted")) {
      const sockets = origin.replace("http", "ws")
      check("WebSocket", (await firstMessage(sockets + String(waiting.eventsUrl))).includes('"position"'))
      const { connectionToken } = await post("/voice/sessionHub/negotiate?negotiateVersion=1", "")
      const hub = await firstMessage(
        `${sockets}/voice/sessionHub?id=${connectionToken}`,
        '{"protocol":"json","version":1}\u001e',
      )
      check("hub", hub === "{}\u001e")
    }
    const byToken = await post(hook, JSON.stringify({ ConversationSessionId: started.sessionId }), {
      "x-api-token": "t".repeat(32),
    })
    check("token webhook", byToken.released === true)
    await readUntil(reader, "event: start_call")
    const { sessionId } = await post(`/voice/api/session/${waiting.uniqueRequestId}/start`, "{}")
    const body = `{ "ConversationSessionId" : "${sessionId}" }`
    check("signed webhook", (await post(hook, body, signed(body))).released === true)
    check("base path", (await fetch(`${origin}/voice/health/ready`)).status === 200)
    await request()
    const last = await fetch(origin + String((await request()).eventsUrl))
    const rest = last.text()
    server.kill("SIGTERM")
    check("shutdown", (await rest).includes("event: reconnect"))
    await exited
    return done.join(", ")
  } finally {
    server.kill("SIGKILL")
    await exited
  }
}

/** Packs what this repository publishes; answers the file's name. */
const pack = (from: string, directory: string): string => {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory]
  const [{ filename }] = JSON.parse(run(from, "npm", ...args))
  return filename
}

const packAll = (directory: string): { readonly gate: string; readonly widget: string } => {
  run(root, process.execPath, "scripts/build.mjs", "--if-needed")
  return { gate: pack(root, directory), widget: pack(join(root, "dist/web/widget"), directory) }
}

/** Next's dev server, which compiles a page and a route when they are first asked for. */
const develop = async (host: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const next = join(host, "node_modules/next/dist/bin/next")
  const server = spawn(process.execPath, [next, "dev", "-p", "0", "-H", "127.0.0.1", ...args], {
    cwd: host,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" },
  })
  const exited = once(server, "exit")
  try {
    let output = ""
    let origin: string | undefined
    while (origin === undefined) {
      const [data]: ReadonlyArray<unknown> = await once(server.stdout, "data")
      output += String(data)
      origin = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
    }
    const done: Array<string> = []
    for (const [path, text] of [
      ["/", "hook: idle"],
      ["/voice/health/ready", "ready"],
      ["/voice/widget.js", "voice-agent"],
    ] as const) {
      const answer = await (await fetch(origin + path)).text()
      if (!answer.includes(text)) throw new Error(`${path} has no ${text} in next dev ${args.join(" ")}: ${answer}`)
      done.push(path)
    }
    return done.join(", ")
  } finally {
    // it starts another process, which answers
    if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL")
    await exited
  }
}

const withNext = async (directory: string): Promise<void> => {
  const { gate, widget } = packAll(directory)
  const host = join(directory, "host")
  write(host, { "package.json": HOST })
  timed("npm install of Next and the tarballs", () =>
    run(host, "npm", "install", "--save-exact", ...NEXT, `../${gate}`, `../${widget}`),
  )
  console.log(`installed: ${sizeOf(join(host, "node_modules"))}`)
  for (const [name, way] of Object.entries(NEXT_WAYS)) {
    console.log(name)
    write(host, nextHost(way))
    for (const bundler of [[], ["--webpack"]]) {
      const text = ["next build", ...bundler].join(" ")
      rmSync(join(host, ".next"), { recursive: true, force: true })
      const said = timed(text, () => run(host, "npx", "--no-install", "next", "build", ...bundler))
      if (/warnings|Critical dependency/.test(said)) throw new Error(`${text} warns: ${said}`)
      console.log(`a route handler with gate.fetch: ${await walkThrough(host)}`)
      console.log(`a custom server with gate.handler: ${await walkThrough(host, "mounted")}`)
      rmSync(join(host, ".next"), { recursive: true, force: true })
      console.log(`${["next dev", ...bundler].join(" ")}: ${await develop(host, ...bundler)}`)
    }
  }
}

const theWidget = (directory: string): void => {
  for (const [name, file] of Object.entries(packAll(directory))) {
    const page = join(directory, name)
    write(page, { "package.json": HOST })
    run(page, "npm", "install", `../${file}`)
    console.log(`a page with the package of the ${name}: ${sizeOf(join(page, "node_modules"))}`)
  }
}

const checks: Readonly<Record<string, (directory: string) => void | Promise<void>>> = {
  git: fromGit,
  next: withNext,
  widget: theWidget,
}

const asked = process.argv.slice(2)
for (const name of asked.length === 0 ? Object.keys(checks) : asked) {
  const check = checks[name]
  if (check === undefined) throw new Error(`${name}: expected one of ${Object.keys(checks).join(", ")}`)
  const directory = mkdtempSync(join(tmpdir(), `voicegate-${name}-`))
  try {
    await check(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
