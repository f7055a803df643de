/**
 * The examples for vendors as Vite bundles them, with each vendor's own SDK from npm, in one browser. The hosts of most vendors are in
 * their SDKs or credentials, so the browser's requests to them are answered by the test.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, Page, WebSocketRoute } from "playwright-core"
import { build } from "vite"
import { afterAll, afterEach, beforeAll } from "vitest"
import type { FakeVendor } from "../../../src/testing/FakeVendor.ts"
import { eventually } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { type Built, whenWebBuilt } from "../../web/rig.ts"
import { startVendorRig, type VendorRig } from "../../web/vendors/rig.ts"
import { click, type Visitor, visit } from "../../web/visitor.ts"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const examples = join(root, "scripts/examples/web/vendors")

export interface VendorPages {
  /** The example of a vendor, as its page begins a call. `prepare` answers in the vendor's place. */
  readonly talk: (
    name: string,
    fake: FakeVendor,
    prepare: (visitor: Visitor, rig: VendorRig) => Promise<unknown>,
    settings?: Readonly<Record<string, unknown>>,
  ) => Promise<Page>
  /** Waits until the page has told the gate that the call is over. */
  readonly reported: () => Promise<void>
  /** The caller leaves: the page says so to its visitor and to the gate. */
  readonly leave: (tab: Page) => Promise<void>
}

/** Waits until the example is in a state of the headless client. */
export const state = (tab: Page, name: string): Promise<void> => tab.locator("#state", { hasText: name }).waitFor()

/** Notes the microphones that a page opens, for `microphones`. */
export const NOTES_MICROPHONES = `
  window.opened = []
  const devices = navigator.mediaDevices
  const open = devices.getUserMedia.bind(devices)
  devices.getUserMedia = async (wanted) => {
    const stream = await open(wanted)
    window.opened.push(...stream.getTracks())
    return stream
  }`

/** How many microphones a page has open. */
export const microphones = (tab: Page): Promise<number> =>
  tab.evaluate<number>('window.opened.filter(({ readyState }) => readyState === "live").length')

/** What the vendor's end of a WebSocket sends. */
export const sender =
  (socket: WebSocketRoute) =>
  (message: object): void =>
    socket.send(JSON.stringify(message))

/** Builds the examples once for the tests of a file. */
export const vendorPages = (): VendorPages => {
  let built: Built
  let browser: Browser
  let work = ""
  let rig: VendorRig
  let visitor: Visitor

  beforeAll(async () => {
    ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
    work = await mkdtemp(join(tmpdir(), "voicegate-vendors-"))
    const pages = (await readdir(examples)).filter((name) => name.endsWith(".html"))
    await build({
      configFile: false,
      root: examples,
      base: "./",
      logLevel: "error",
      resolve: { alias: { "voicegate/widget": join(root, "dist/web/widget/index.js") } },
      build: {
        outDir: work,
        target: "es2022",
        modulePreload: false,
        minify: false,
        rolldownOptions: { input: pages.map((name) => join(examples, name)) },
      },
    })
  })
  afterAll(() => rm(work, { recursive: true, force: true }))
  afterEach(async () => {
    await visitor.context.close()
    await rig.stop()
  })

  const reported = (): Promise<void> =>
    eventually("the report to the gate", () => rig.asked.includes("DELETE /api/session/:id"))
  return {
    talk: async (name, fake, prepare, settings = {}) => {
      rig = await startVendorRig(built, fake, settings)
      for (const file of await readdir(join(work, "assets")))
        rig.files[`/assets/${file}`] = await readFile(join(work, "assets", file))
      rig.files["/"] = await readFile(join(work, `${name}.html`), "utf8")
      visitor = await visit(browser, { permissions: ["microphone"] })
      await prepare(visitor, rig)
      const tab = await visitor.open(rig.site)
      await click(tab, "Talk")
      return tab
    },
    reported,
    leave: async (tab) => {
      await click(tab, "Leave")
      await state(tab, "ended")
      await reported()
    },
  }
}
