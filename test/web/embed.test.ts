/** The widget on another site's page: cross-origin, a strict content security policy, custom fields and texts. */
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { eventually } from "../../scripts/harness/process.ts"
import { launchBrowser } from "../support/browser.ts"
import { type Built, type Rig, startRig, whenWebBuilt } from "./rig.ts"
import { click, level, screen, type Visitor, visit } from "./visitor.ts"

let built: Built
let browser: Browser
let rig: Rig
let visitor: Visitor
let site: Awaited<ReturnType<typeof startSite>>

/** Another site: one page with the given content and policy, and the widget's module hosted there. */
const startSite = async () => {
  const page = { body: "", policy: "" }
  const server = createServer(async (request, response) => {
    if (request.url === "/own.js") {
      response
        .writeHead(200, { "content-type": "text/javascript" })
        .end(await readFile(join(built.widget, "widget.js")))
      return
    }
    response
      .writeHead(request.url === "/" ? 200 : 404, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": page.policy,
        // the strictest isolation a page can ask for
        "cross-origin-embedder-policy": "require-corp",
      })
      .end(`<!doctype html><html lang="en"><title>A shop</title><main><h1>A shop</h1>${page.body}</main>`)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return {
    origin: `http://127.0.0.1:${address.port}`,
    page,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    },
  }
}

beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), launchBrowser()])
})

afterAll(async () => {
  await browser?.close()
})

beforeEach(async () => {
  site = await startSite()
  rig = await startRig(built, { settings: { Security: { AllowedOrigins: [site.origin] } } })
  visitor = await visit(browser)
})

afterEach(async () => {
  await visitor.context.close()
  await rig.stop()
  await site.stop()
})

const gate = (): string => rig.url.slice(0, -1)
/** The minimal policy of such a page. */
const policy = (script: string): string =>
  `default-src 'none'; script-src ${script}; connect-src ${gate()} ${gate().replace("http", "ws")} ws://127.0.0.1:${rig.callLine.port}; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'`

const callFrom = async (body: string, allowed: string): Promise<Page> => {
  Object.assign(site.page, { body, policy: allowed })
  const tab = await visitor.open(site.origin)
  await click(tab, "Start talking")
  await screen(tab, "In call")
  await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
  return tab
}

describe("a page that embeds the widget", () => {
  it("calls across origins under a policy that allows only the gate's scripts and connections", async () => {
    await callFrom(
      `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
      policy(gate()),
    )
    expect(visitor.complaints).toEqual([])
  })

  it("may use the classic script, with Trusted Types enabled", async () => {
    await callFrom(
      `<voice-agent gate="${gate()}"></voice-agent><script src="${gate()}/widget.classic.js" crossorigin></script>`,
      policy(gate()),
    )
    expect(visitor.complaints).toEqual([])
  })

  it("works without the gate's scripts if it hosts the widget and allows blob:", async () => {
    const open = policy("'self' blob:").replace(/; require-trusted.*/, "")
    await callFrom(`<script type="module" src="/own.js"></script><voice-agent gate="${gate()}"></voice-agent>`, open)
    // the gate's worklet was tried first, and refused
    expect(visitor.complaints.every((complaint) => complaint.includes("widget/audio.js"))).toBe(true)
  })

  it("sends its fields as variables and metadata, and requires those that are mandatory", async () => {
    Object.assign(site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script>
        <voice-agent gate="${gate()}" client-identifier="shop-42">
          <label>Name <input name="name" required /></label>
          <label>Topic <select name="topic"><option>Returns</option></select></label>
          <input type="hidden" name="page" value="/cart" data-to="metadata" />
          <label><input type="checkbox" name="news" value="yes" /> News</label>
        </voice-agent>`,
    })
    const tab = await visitor.open(site.origin)
    await click(tab, "Start talking")
    await screen(tab, "Talk to us")
    await tab.getByLabel("Name").fill("Ada")
    const request = tab.waitForRequest((each) => each.url().endsWith("/request") && each.method() === "POST")
    await click(tab, "Start talking")
    expect((await request).postDataJSON()).toMatchObject({
      clientIdentifier: "shop-42",
      dynamicVariables: { name: "Ada", topic: "Returns" },
      metadata: { page: "/cart" },
    })
    expect((await request).postDataJSON().dynamicVariables).not.toHaveProperty("news")
    await screen(tab, "In call")
  })

  it("replaces all texts, also the gate's messages", async () => {
    Object.assign(site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script>
        <voice-agent gate="${gate()}" lang="de" strings='{"idle.begin":"Sprechen","waiting.title":"Ihr Platz",
          "waiting.ahead":{"one":"Eine Person vor Ihnen.","other":"{n} Personen vor Ihnen."},"waiting.leave":"Verlassen",
          "notice.left":"Sie haben die Schlange verlassen.","refused.region_not_allowed.title":"Hier nicht"}'></voice-agent>`,
    })
    await rig.hold()
    const tab = await visitor.open(site.origin)
    const other = await visitor.open(site.origin)
    await click(other, "Sprechen")
    await screen(other, "Ihr Platz")
    await click(tab, "Sprechen")
    await tab.getByText("Eine Person vor Ihnen.", { exact: true }).waitFor()
    await click(tab, "Verlassen")
    await tab.locator("voice-agent .notice", { hasText: "Sie haben die Schlange verlassen." }).waitFor()
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("region", "mars")')
    await click(tab, "Sprechen")
    await screen(tab, "Hier nicht")
  })

  it("is refused by a gate that does not know its origin", async () => {
    await rig.stop()
    rig = await startRig(built)
    Object.assign(site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
    })
    const tab = await visitor.open(site.origin)
    await click(tab, "Start talking")
    // The browser keeps the reason to itself.
    await screen(tab, "No connection")
  })
})

describe("the widget's scripts", () => {
  const FILES = ["widget.js", "widget.classic.js", "widget/audio.js"]

  it("are at most 15 kB gzipped, and depend on nothing", async () => {
    for (const name of ["widget.js", "widget.classic.js"]) {
      const script = await readFile(join(built.widget, name))
      const size = gzipSync(script, { level: 9 }).length
      console.log(`      ${name}: ${size} bytes gzipped, ${script.length} as it is`)
      expect(size).toBeLessThanOrEqual(15_000)
      expect(script.toString()).not.toMatch(/(?:^|;)import\b|require\(|import\(/)
    }
  })

  it("are served to any page, with a strong ETag that answers 304", async () => {
    for (const file of FILES) {
      const first = await fetch(rig.url + file, { headers: { origin: "https://anybody.example" } })
      expect(first.status).toBe(200)
      expect(first.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
      expect(first.headers.get("content-encoding")).toBe("gzip")
      expect(first.headers.get("access-control-allow-origin")).toBe("*")
      expect(first.headers.get("cross-origin-resource-policy")).toBe("cross-origin")
      expect(first.headers.get("cache-control")).toContain("max-age=")
      expect(first.headers.get("vary")).toBe("Accept-Encoding")
      const etag = first.headers.get("etag") ?? ""
      expect(etag).toMatch(/^"[\w-]{43}"$/)
      const content = await first.text()
      expect(content).toBe(await readFile(join(built.widget, file.replace("widget/", "")), "utf8"))

      const again = await fetch(rig.url + file, { headers: { "if-none-match": etag } })
      expect([again.status, await again.text()]).toEqual([304, ""])
      const plain = await fetch(rig.url + file, { headers: { "accept-encoding": "identity" } })
      expect(plain.headers.get("content-encoding")).toBeNull()
      expect(plain.headers.get("etag")).not.toBe(etag)
      expect(await plain.text()).toBe(content)
      const head = await fetch(rig.url + file, { method: "HEAD", headers: { "accept-encoding": "gzip;q=0" } })
      expect([head.status, head.headers.get("content-length")]).toEqual([200, String(Buffer.byteLength(content))])
    }
  })
})
