/**
 * What a host's installation does that needs a package registry, so no test does it:
 *
 *     node scripts/host-installs.ts [git] [next]
 *
 * - `git`: `npm install` of a bare clone of this repository's HEAD, which builds the package; then a host makes a gate.
 * - `next`: `next build` and a custom server, with the packed tarball installed as a host does. Next is no devDependency: it is
 *   about 340 MB, its compiler most of them, to the 800 MB of `npm ci`.
 *
 * Prints what was done with times and sizes, and ends with 1 at the first failure. Takes some minutes.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

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

/** Settings of a gate with a platform of the host's own. */
const GATE = `
  const settings = { VoiceAiPlatform: { BusinessId: "b", WebCampaignId: "c", DefaultRegionId: "r", MaxConcurrency: 1 }, Security: { WebhookApiToken: "t".repeat(32) } }
  const options = { log() {}, platform: { initiate: async () => ({ sessionIds: ["s"], webSocketUrl: "wss://agent.example/s" }) } }`

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

/** A page, a route handler with `gate.fetch`, and a custom server that mounts the gate before Next's pages. */
const NEXT_HOST = {
  "package.json": HOST,
  // the route's gate is that of the process
  "gate.js": `import { createGate } from "voicegate"${GATE}
    export const gate = () => (globalThis.gate ??= createGate(settings, { ...options, basePath: "/voice" }))`,
  "next.config.js": `export default { serverExternalPackages: ["voicegate"], typescript: { ignoreBuildErrors: true } }`,
  "app/layout.js": "export default ({ children }) => <html lang='en'><body>{children}</body></html>",
  "app/page.js": "export default () => <p>the host's page</p>",
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
    const { handler, upgrade } = await gate()
    const server = createServer((request, response) => mounted ? handler(request, response, () => pages(request, response)) : pages(request, response))
    if (mounted) server.on("upgrade", upgrade)
    server.listen(0, "127.0.0.1", () => console.log("listens " + server.address().port))`,
}

/** What the server answers to a page, a session request, events and a missing ticket. */
const answersOf = async (host: string, ...args: ReadonlyArray<string>): Promise<string> => {
  const server = spawn(process.execPath, ["server.js", ...args], { cwd: host, stdio: ["ignore", "pipe", "inherit"] })
  try {
    let output = ""
    let port: string | undefined
    while (port === undefined) {
      const [data]: ReadonlyArray<unknown> = await once(server.stdout, "data")
      output += String(data)
      port = /listens (\d+)/.exec(output)?.[1]
    }
    const origin = `http://127.0.0.1:${port}`
    const request = () =>
      fetch(`${origin}/voice/api/session/request`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      })
    const page = (await (await fetch(origin)).text()).includes("the host&#x27;s page")
    const started = await request()
    const waiting: Readonly<Record<string, unknown>> = JSON.parse(await (await request()).text())
    const events = await fetch(origin + String(waiting.eventsUrl))
    const first = await events.body?.pipeThrough(new TextDecoderStream()).getReader().read()
    return [page, started.status, waiting.status, events.status, first?.value?.split("\n", 1)[0]].join(" ")
  } finally {
    server.kill("SIGKILL")
    await once(server, "exit")
  }
}

const withNext = async (directory: string): Promise<void> => {
  const [{ filename }] = JSON.parse(run(root, "npm", "pack", "--json", "--pack-destination", directory))
  write(directory, NEXT_HOST)
  timed("npm install of Next and the tarball", () =>
    run(directory, "npm", "install", "--save-exact", ...NEXT, `./${filename}`),
  )
  console.log(`installed: ${sizeOf(join(directory, "node_modules"))}`)
  timed("next build", () => run(directory, "npx", "--no-install", "next", "build"))
  const wanted = "true 200 queued 200 event: position"
  expect("a route handler with gate.fetch", await answersOf(directory), wanted)
  expect("a custom server with gate.handler", await answersOf(directory, "mounted"), wanted)
}

const checks: Readonly<Record<string, (directory: string) => void | Promise<void>>> = { git: fromGit, next: withNext }

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
