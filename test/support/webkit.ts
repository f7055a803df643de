/**
 * WebKitGTK's small browser on a display of its own, with a microphone that beeps, driven over WebDriver. Nothing asks for a permission
 * there, and no sound server is needed.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { eventually, freePort, start } from "../harness/process.ts"

/** Debian's packages `webkit2gtk-driver` and `xvfb`. */
const PARTS = {
  driver: "/usr/bin/WebKitWebDriver",
  browser: "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
  display: "/usr/bin/Xvfb",
}

/** What is missing on this machine; undefined if nothing is. */
export const missing: string | undefined = Object.values(PARTS).find((path) => !existsSync(path))

export interface WebKit {
  readonly open: (url: string) => Promise<void>
  /** Runs an async function body in the page, and returns what it returns, as JSON has it. */
  readonly run: (body: string) => Promise<unknown>
  readonly close: () => Promise<void>
}

export const launchWebKit = async (): Promise<WebKit> => {
  const directory = await mkdtemp(join(tmpdir(), "voicegate-webkit-"))
  const screen = await start(
    PARTS.display,
    ["-displayfd", "1", "-screen", "0", "1000x800x24", "-nolisten", "tcp"],
    directory,
  )
  const display = (): string => /^\d+$/m.exec(screen.output())?.[0] ?? ""
  await eventually("the display", () => display() !== "")
  const port = await freePort()
  const env = {
    ...Object.fromEntries(
      Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    // without one the browser's language is "C", which is no language tag
    LANG: "en_US.UTF-8",
    DISPLAY: `:${display()}`,
    HOME: directory,
    XDG_RUNTIME_DIR: directory,
    GSETTINGS_BACKEND: "memory",
    // containers seldom allow its own sandbox, and only the tests' own pages are opened
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
  }
  const driver = await start(PARTS.driver, [`--port=${port}`, "--host=127.0.0.1"], directory, { env })

  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer: { readonly value: unknown } = JSON.parse(await response.text())
    if (!response.ok) throw new Error(`WebDriver refused ${path}: ${JSON.stringify(answer.value).slice(0, 300)}`)
    return answer.value
  }

  await eventually("the driver", async () => (await ask("GET", "/status")) !== undefined)
  const options = { binary: PARTS.browser, args: ["--automation", "--enable-mock-capture-devices=true"] }
  const made = await ask("POST", "/session", { capabilities: { alwaysMatch: { "webkitgtk:browserOptions": options } } })
  const id = typeof made === "object" && made !== null && "sessionId" in made ? String(made.sessionId) : ""
  return {
    open: async (url) => {
      await ask("POST", `/session/${id}/url`, { url })
    },
    run: (body) =>
      ask("POST", `/session/${id}/execute/async`, {
        script: `const done = arguments[0]; (async () => { ${body} })().then(done, (error) => done("failed: " + error))`,
        args: [],
      }),
    close: async () => {
      await ask("DELETE", `/session/${id}`)
      await driver.stop()
      await screen.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
