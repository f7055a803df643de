/** The pages of gate and platform in a browser: what they may load, who may frame them, and caching. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { startInspected } from "../fuzz/inspected.ts"
import { type Gate, makeBench, settingsFor } from "../harness/gate.ts"
import { ask } from "../harness/http.ts"
import { startPlatform } from "../harness/servers.ts"
import { sharedBrowser } from "../support/browser.ts"

describe("a page", () => {
  const bench = makeBench()
  let browser: Browser
  let gate: Gate
  let platform = ""
  afterAll(bench.dispose)
  beforeAll(async () => {
    browser = await sharedBrowser()
    gate = await bench.gate(
      settingsFor(await startPlatform().then(bench.own), { Security__ConsoleToken: "console-token-0123456789" }),
    )
    const local = bench.own(
      await startInspected(["platform", "--port", "0", "--database", "sqlite::memory:"], {}, () => {}),
    )
    platform = await local.said(/listens at (http:\/\/[^/\s]+)/)
  })
  const pages = () => [
    `${gate.url}/console/`,
    `${gate.url}/docs`,
    `${gate.url}/docs/operating`,
    `${platform}/`,
    `${platform}/docs`,
  ]

  it("cannot be framed, loads from its own origin only, and is not sniffed for another type", async () => {
    for (const page of pages()) {
      const { headers, status } = await ask("GET", page)
      const policy = headers["content-security-policy"] ?? ""
      assert.strictEqual(status, 200, page)
      assert.include(policy, "default-src 'none'", page)
      assert.include(policy, "frame-ancestors 'none'", page)
      assert.include(policy, "base-uri 'none'", page)
      assert.include(policy, "form-action 'none'", page)
      assert.notMatch(String(policy), /https?:|\*|unsafe-eval/, page)
      assert.strictEqual(headers["x-content-type-options"], "nosniff", page)
      assert.strictEqual(headers["referrer-policy"], "no-referrer", page)
      assert.strictEqual(headers["cross-origin-opener-policy"], "same-origin", page)
    }
  })

  it("asks no other host for anything, violates no policy of its own, and renders", async () => {
    const openPage = async (page: string): Promise<void> => {
      const tab = await browser.newPage()
      const complaints: Array<string> = []
      const asked: Array<string> = []
      tab.on("pageerror", (error) => complaints.push(String(error)))
      tab.on("console", (message) => {
        if (/Content Security Policy/.test(message.text())) complaints.push(message.text())
      })
      tab.on("request", (request) => asked.push(request.url()))
      await tab.goto(page)
      // a heading or a control stands there once the page's script has run
      await tab.locator("h1, h2, input").first().waitFor({ timeout: 30_000 })
      assert.deepStrictEqual(complaints, [], page)
      const { origin } = new URL(page)
      assert.deepStrictEqual(
        asked.filter((url) => !url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)),
        [],
        page,
      )
      await tab.close()
    }
    await Promise.all(pages().map(openPage))
  })

  it("a page of another origin cannot show a page of ours in a frame", async () => {
    const tab = await browser.newPage()
    await tab.route("http://evil.example/", (route) =>
      route.fulfill({
        contentType: "text/html",
        body: pages()
          .map((page) => `<iframe src="${page}"></iframe>`)
          .join(""),
      }),
    )
    await tab.goto("http://evil.example/", { waitUntil: "load" })
    // what a browser shows instead
    const shown = tab
      .frames()
      .slice(1)
      .map((frame) => frame.url())
    assert.deepStrictEqual(
      shown,
      pages().map(() => "chrome-error://chromewebdata/"),
    )
    await tab.close()
  })
})
