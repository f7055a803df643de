/** The widget on another site's page, in front of a gate that allows it, and the policies that such a page may have. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterEach, beforeAll, beforeEach } from "vitest"
import { sharedBrowser } from "../../support/browser.ts"
import { type Built, type Options, type Rig, startRig, whenWebBuilt } from "../rig.ts"
import { startSite } from "../site.ts"
import { type Visitor, visit } from "../visitor.ts"

/** A site of one page with the given content and policy, and the widget's module hosted there. */
const startShop = async (built: Built) => {
  const page = { body: "", framed: "", policy: "", permissions: "", isolated: true }
  const site = await startSite(async ({ url }, response) => {
    const own = url === "/own.js" ? "widget.js" : /^\/package\/((?:parts\/)?[\w-]+\.js)$/.exec(url ?? "")?.[1]
    if (own !== undefined) {
      response.writeHead(200, { "content-type": "text/javascript" }).end(await readFile(join(built.widget, own)))
      return
    }
    response
      .writeHead(url === "/" || url === "/framed" ? 200 : 404, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": page.policy,
        "permissions-policy": page.permissions,
        // the strictest isolation a page can ask for
        "cross-origin-embedder-policy": page.isolated ? "require-corp" : "unsafe-none",
      })
      .end(
        `<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1>${url === "/framed" ? page.framed : page.body}</main>`,
      )
  })
  return { ...site, page }
}

/** A browser for the tests of a file, and for each test a site, a gate that allows the site, and a visitor. */
export const useSite = () => {
  let built: Built
  let browser: Browser
  let rig: Rig
  let visitor: Visitor
  let site: Awaited<ReturnType<typeof startShop>>

  beforeAll(async () => {
    ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
  })

  beforeEach(async () => {
    site = await startShop(built)
    rig = await startRig(built, { settings: { Security: { AllowedOrigins: [site.origin] } } })
    visitor = await visit(browser)
  })

  afterEach(async () => {
    await visitor.context.close()
    await rig.stop()
    await site.stop()
  })

  /** The gate's address, without a slash at its end. */
  const gate = (): string => rig.url.slice(0, -1)
  /** The minimal policy: calls work, on the page's thread. */
  const withoutWorkers = (script: string): string =>
    `default-src 'none'; script-src ${script}; connect-src ${gate()} ${gate().replace("http", "ws")} ws://127.0.0.1:${rig.callLine.port}; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'`
  /** A strict policy of such a page, with all that the widget can use. */
  const policy = (script: string): string =>
    `${withoutWorkers(script).replace("trusted-types 'none'", "trusted-types voicegate")}; worker-src blob:`

  return {
    gate,
    withoutWorkers,
    policy,
    get built() {
      return built
    },
    get rig() {
      return rig
    },
    get visitor() {
      return visitor
    },
    get site() {
      return site
    },
    /** Replaces the gate by one with these options. */
    restart: async (options: Options = {}): Promise<void> => {
      await rig.stop()
      rig = await startRig(built, options)
    },
  }
}
