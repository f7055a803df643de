/**
 * A headless Chromium (its headless shell, where it is installed: it starts with a fifth of the work) with a fresh profile, a
 * microphone that beeps, and no background traffic. Every context of it is a new visitor. It dies with the test process.
 */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

const CANDIDATES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
]

/** The system's browser, or the one that `CHROMIUM` names. */
const executable = (): string => {
  const found = [process.env.CHROMIUM, ...CANDIDATES].find((path) => path !== undefined && existsSync(path))
  if (found === undefined) throw new Error("no Chromium found: run scripts/setup-system.sh, or set CHROMIUM")
  return found
}

let shared: Promise<Browser> | undefined

/** The one that the test files of this process share, which nobody closes: who opens a context in it closes that. */
export const sharedBrowser = async (): Promise<Browser> => {
  shared ??= launchBrowser()
  if (!(await shared).isConnected()) shared = launchBrowser()
  return shared
}

/** Starts it; `close` stops it and removes its profile. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executable(),
    args: [
      // Containers seldom allow Chromium's own sandbox, and only the tests' own pages are opened.
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      "--mute-audio",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-domain-reliability",
      "--disable-sync",
      "--no-first-run",
      "--no-pings",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  })
