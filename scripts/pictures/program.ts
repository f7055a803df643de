/** What the pictures show: the demo as it is built, a page of a shop with its widget, and a browser for both. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Browser, chromium, type Page } from "playwright-core"

const root = join(import.meta.dirname, "../..")

export type Theme = "light" | "dark"
export const THEMES: ReadonlyArray<Theme> = ["light", "dark"]

/** What the agent says instead of its own words: the demo's agent repeats what it hears. */
export type Lines = (say: (text: string, role?: "agent" | "caller") => void) => void

export interface Program {
  readonly browser: Browser
  /** the gate's origin */
  readonly gate: string
  readonly consoleToken: string
  /** the dashboard of the local platform, and what to sign in with */
  readonly platform: { readonly origin: string; readonly email: string; readonly password: string }
  /** Opens the shop's page as a visitor of its own. `widget` is what the element has besides its gate. */
  readonly openShop: (options: {
    readonly theme: Theme
    readonly width: number
    readonly height: number
    readonly scale: number
    readonly widget: string
    readonly style?: string
    readonly text?: string
    /** no motion, for a picture that stands still */
    readonly still?: boolean
    readonly lines?: Lines
  }) => Promise<Page>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const fonts = join(root, "node_modules/@fontsource/inter/files")
/** The letters that `tokens.css` names first, which this machine may lack. */
export const LETTERS: string = [400, 500, 600, 700]
  .map((weight) => {
    const file = readFileSync(join(fonts, `inter-latin-${weight}-normal.woff2`)).toString("base64")
    return `@font-face { font-family: Inter; font-weight: ${weight}; src: url(data:font/woff2;base64,${file}) }`
  })
  .join("\n")

/** How long a page may take for a step on a busy machine, in milliseconds. */
export const PATIENCE = 180_000

/** A browser whose microphone beeps. `CHROMIUM` names another than Debian's. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--mute-audio"],
  })

const find = (text: string, pattern: RegExp): ReadonlyArray<string> => {
  const found = pattern.exec(text)
  if (found === null) throw new Error(`The demo did not print ${pattern}:\n${text}`)
  return found.slice(1)
}

/** The pages of the shop: a page's body by its path. */
const servePages = async () => {
  const pages = new Map<string, string>()
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8")
    // a WebSocket of a worker cannot be led through this script, and the page's own can
    response.setHeader("content-security-policy", "worker-src 'none'")
    response.end(pages.get(request.url ?? "") ?? "")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return { pages, server, origin: `http://127.0.0.1:${address.port}` }
}

/** Lets the agent say `lines`, beside the sound that it repeats. */
const speak = (page: Page, lines: Lines): Promise<void> =>
  page.routeWebSocket(/\/session\/[^/]+\?/, (socket) => {
    const server = socket.connectToServer()
    server.onMessage((message) => {
      if (typeof message !== "string" || message.includes('"pong"')) socket.send(message)
      else if (message.includes('"greeting"')) {
        let first = true
        lines((text, role = "agent") => {
          const said = { type: "message", role, text }
          socket.send(JSON.stringify(first ? { ...JSON.parse(message), text } : said))
          first = false
        })
      }
    })
  })

/**
 * Starts all of it; it is gone at the end of `await using`.
 *
 * @param withHour the program's clock begins an hour ago (`an-hour.ts`)
 */
export const startProgram = async (withHour = false): Promise<Program> => {
  const folder = mkdtempSync(join(tmpdir(), "voicegate-pictures-"))
  const { origin, pages, server } = await servePages()
  const command = [join(root, "dist/main.js"), "demo", "--port", "0", "--allow-origin", origin]
  const clock = withHour ? ["--import", join(import.meta.dirname, "an-hour.ts")] : []
  const demo = spawn(process.execPath, [...clock, ...command], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] })
  const exited = once(demo, "exit")
  let said = ""
  const started = new Promise<void>((resolve) => {
    for (const stream of [demo.stdout, demo.stderr])
      stream.on("data", (data: unknown) => {
        said += String(data)
        if (said.includes("Ctrl-C")) resolve()
      })
  })
  await Promise.race([started, exited.then(() => Promise.reject(new Error(`The demo ends:\n${said}`)))])
  const [gate = ""] = find(said, /demo +(http:\S+)\//)
  const [consoleToken = ""] = find(said, /with the token (\S+)/)
  const [platform = "", email = "", password = ""] = find(
    said,
    /Local platform +(http:\S+)\/ +sign in as (\S+) with (\S+)/,
  )
  const browser = await launchBrowser()
  let count = 0
  return {
    browser,
    gate,
    consoleToken,
    platform: { origin: platform, email, password },
    openShop: async ({ height, lines, scale, still = false, style = "", text = "", theme, widget, width }) => {
      const path = `/${count++}`
      pages.set(
        path,
        `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Northwind</title><style>${STYLE}${style}</style>
<script type="module" src="${gate}/widget.js"></script>${text}<voice-agent gate="${gate}" ${widget}></voice-agent></html>`,
      )
      const context = await browser.newContext({
        viewport: { width, height },
        deviceScaleFactor: scale,
        colorScheme: theme,
        reducedMotion: still ? "reduce" : "no-preference",
        permissions: ["microphone", "notifications"],
      })
      const page = await context.newPage()
      page.setDefaultTimeout(PATIENCE)
      if (lines !== undefined) await speak(page, lines)
      await page.goto(origin + path)
      await page.locator("voice-agent[state]").waitFor({ state: "attached" })
      return page
    },
    [Symbol.asyncDispose]: async () => {
      await browser.close()
      server.close()
      server.closeAllConnections()
      demo.kill()
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The colours of all pages of the gate, and what a page of a shop needs. */
const STYLE = `${LETTERS}
${readFileSync(join(root, "src/web/shared/styles/tokens.css"), "utf8")}
body { margin: 0; background: var(--paper); color: var(--ink); font-family: var(--sans) }`
