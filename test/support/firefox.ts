/**
 * A headless Firefox with a fresh profile, a microphone that hums, and loudspeakers that swallow everything. Debian's Firefox does not
 * know a command of WebDriver BiDi that Playwright always sends, so Puppeteer drives it.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser } from "puppeteer-core"
import { type Child, eventually, start } from "../harness/process.ts"

const existing = (paths: ReadonlyArray<string | undefined>): string | undefined =>
  paths.find((path) => path !== undefined && existsSync(path))

/** The system's Firefox, or the one that `FIREFOX` names; undefined if there is none. */
export const firefox = existing([process.env.FIREFOX, "/usr/bin/firefox-esr", "/usr/bin/firefox"])

/** The system's sound server, or the one that `PULSEAUDIO` names. Without it, no AudioContext of Firefox runs on a machine without loudspeakers. */
export const pulseaudio = existing([process.env.PULSEAUDIO, "/usr/bin/pulseaudio"])

/** Loudspeakers that swallow everything, at a socket in a directory; undefined where there is no sound server. */
const startSound = async (directory: string): Promise<Child | undefined> => {
  if (pulseaudio === undefined) return undefined
  const socket = join(directory, "sound")
  const modules = ["module-null-sink", `module-native-protocol-unix socket=${socket} auth-anonymous=1`]
  const child = await start(
    pulseaudio,
    ["-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", ...modules.flatMap((each) => ["-L", each])],
    directory,
    { env: { HOME: directory, XDG_RUNTIME_DIR: directory } },
  )
  await eventually("the sound server", () => existsSync(socket))
  return child
}

export interface Firefox {
  readonly browser: Browser
  /** stops it and its sound, and removes its profile */
  readonly close: () => Promise<void>
}

export const launchFirefox = async (executablePath: string): Promise<Firefox> => {
  // loaded here, so that it costs nothing where there is no Firefox
  const { default: puppeteer } = await import("puppeteer-core")
  const directory = await mkdtemp(join(tmpdir(), "voicegate-firefox-"))
  const sound = await startSound(directory)
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath,
    env: { ...process.env, HOME: directory, PULSE_SERVER: `unix:${join(directory, "sound")}` },
    extraPrefsFirefox: {
      "media.navigator.streams.fake": true,
      // the question for the microphone is the browser's own: no script can answer it
      "media.navigator.permission.disabled": true,
      // all hosts but this machine are behind a proxy that does not exist
      "network.proxy.type": 1,
      "network.proxy.http": "127.0.0.1",
      "network.proxy.http_port": 9,
      "network.proxy.ssl": "127.0.0.1",
      "network.proxy.ssl_port": 9,
      "network.proxy.no_proxies_on": "127.0.0.1, localhost",
    },
  })
  return {
    browser,
    close: async () => {
      await browser.close()
      await sound?.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
