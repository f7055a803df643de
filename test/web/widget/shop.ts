/** A shop's page with the widget on it, as wide and as coloured as a test needs it, in front of a gate of the test's own. */
import axe from "axe-core"
import type { Page } from "playwright-core"
import { afterEach, beforeEach } from "vitest"
import { type Site, startSite } from "../site.ts"
import { type Browsing, useWidget } from "./rig.ts"

/** Styles that shops have: a layer over everything, and a container that would trap what is fixed in it. */
export const HOSTILE = `
  .over { position: fixed; inset: 0; z-index: 2147483647; pointer-events: none }
  .over::after { content: ""; position: absolute; inset: auto 0 0 auto; width: 300px; height: 120px; background: crimson; pointer-events: auto }
  main { transform: translateX(0); overflow: hidden; contain: paint }`

const page = (agent: string, styles: string, lang: string): string => `<!doctype html>
  <html lang="${lang}"${lang === "ar" ? ' dir="rtl"' : ""}><meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
  <title>A shop</title><style>body { font: 16px/1.5 sans-serif } ${styles}</style>
  <main><h1>Linen shirts</h1>${"<p>Woven in small runs, washed once, and cut for a loose fit.</p>".repeat(8)}
  ${agent}<button id="own">Call us</button></main><div class="over"></div>
  <script type="module" src="/widget.js"></script></html>`

export interface Shop {
  readonly browsing?: Browsing
  readonly lang?: string
  readonly styles?: string
  /** of the gate's queue */
  readonly queue?: Readonly<Record<string, unknown>>
}

/** A shop of its own for each test of a file; nothing on its page may fail. */
export const useShop = () => {
  const widget = useWidget()
  let content = ""
  let site: Site

  beforeEach(async () => {
    site = await startSite((_, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(content)
    })
  })

  afterEach(() => site.stop())

  return {
    widget,
    /** Opens the page; `agent` is the element as a page writes it, without its gate. */
    open: async (agent: string, { browsing = {}, lang = "en", queue = {}, styles = "" }: Shop = {}): Promise<Page> => {
      const settings = { Queue: queue, Security: { AllowedOrigins: [site.origin] } }
      await widget.begin({ settings }, browsing)
      await widget.visitor.context.addInitScript(axe.source)
      const gate = widget.rig.url.slice(0, -1)
      content = page(agent.replaceAll("<voice-agent", `<voice-agent gate="${gate}"`), styles, lang).replace(
        "/widget.js",
        `${gate}/widget.js`,
      )
      return widget.visitor.open(site.origin)
    },
  }
}

/** The violations of the page as it is, each with the elements it is found at. */
export const violations = (tab: Page): Promise<ReadonlyArray<string>> =>
  tab.evaluate<ReadonlyArray<string>>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))`,
  )
