/** A page of the documents in a browser, as the build renders it and under the policy with which the gate serves it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { extname, join } from "node:path"
import { gunzipSync } from "node:zlib"
import axe from "axe-core"
import type { BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { writePages } from "../../../scripts/docs/render.ts"
import { asIndex, HEADERS_BY_TYPE } from "../../../src/http/documents/doc-pages.ts"
import { sharedBrowser } from "../../support/browser.ts"

const directory = mkdtempSync(join(tmpdir(), "voicegate-docs-"))
writePages(directory)

const server = createServer((request, response) => {
  const path = new URL(request.url ?? "", "http://gate").pathname
  const name = path === "/docs" ? "start" : path.replace(/^\/docs\//, "")
  const isPage = extname(name) === ""
  const file = readFileSync(join(directory, isPage ? `${name}.html.gz` : name))
  const body = isPage ? gunzipSync(file) : file
  response.writeHead(200, { ...HEADERS_BY_TYPE[isPage ? ".html" : extname(name)] })
  response.end(path === "/docs" ? asIndex(body.toString()) : body)
})
let context: BrowserContext
let page: Page
let origin = ""

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
  context = await (await sharedBrowser()).newContext({ viewport: { width: 1100, height: 800 } })
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin })
  page = await context.newPage()
  await page.goto(`${origin}/docs`)
})
afterAll(async () => {
  await context.close()
  server.close()
  rmSync(directory, { recursive: true, force: true })
})

/** What axe finds on the page as it is. */
const violations = async (): Promise<ReadonlyArray<string>> => {
  // the policy allows no inline script, and does not bind what the test evaluates
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() => axe.run())
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
}

it("leads by / and a few letters to a section of another document, with the keyboard alone", async () => {
  await page.keyboard.press("/")
  await page.keyboard.insertText("circuit")
  const field = page.getByRole("combobox", { name: "Search the documents" })
  await page.getByRole("option", { name: /^Circuit breaker/ }).waitFor()
  expect(await field.getAttribute("aria-expanded")).toBe("true")
  expect(await field.getAttribute("aria-activedescendant")).toBe("result-0")
  await page.keyboard.press("ArrowDown")
  expect(await field.getAttribute("aria-activedescendant")).toBe("result-1")
  await page.keyboard.press("ArrowUp")
  await page.keyboard.press("Enter")
  await page.waitForURL(`${origin}/docs/failures#circuit-breaker`)
  await page.goto(`${origin}/docs`)
})

it("loses no key that is pressed while it searches, and forgets them after Escape", async () => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route("**/docs/vendors", async (route) => {
    await held
    await route.continue()
  })
  await page.reload()
  await page.getByRole("combobox").waitFor()
  await page.keyboard.press("/")
  await page.keyboard.insertText("webhook")
  for (const key of ["Enter", "Escape", "/"]) await page.keyboard.press(key)
  await page.keyboard.insertText("circuit")
  for (const key of ["ArrowDown", "ArrowUp", "Enter"]) await page.keyboard.press(key)
  expect(await page.locator(".results").isVisible()).toBe(false)
  release()
  await page.waitForURL(`${origin}/docs/failures#circuit-breaker`)
  await page.unroute("**/docs/vendors")
  await page.goto(`${origin}/docs`)
})

it("says that nothing was found, and closes what it shows with Escape", async () => {
  await page.getByRole("combobox").waitFor()
  await page.keyboard.press("/")
  await page.keyboard.insertText("zzzqqq")
  await page.getByText("Nothing found for “zzzqqq”").waitFor()
  await page.keyboard.press("Escape")
  expect(await page.getByText("Nothing found for “zzzqqq”").isVisible()).toBe(false)
})

it("shows the code of the chosen tab alone, which the arrows choose, and copies it", async () => {
  const html = page.getByText('<script type="module" src="http://localhost:8080/widget.js">')
  const react = page.getByText('import "voicegate-widget/react"')
  expect([await html.isVisible(), await react.isVisible()]).toEqual([true, false])
  await page.getByRole("radio", { name: "HTML" }).focus()
  await page.keyboard.press("ArrowRight")
  expect([await html.isVisible(), await react.isVisible()]).toEqual([false, true])
  const code = page.locator(".code").filter({ has: react })
  await code.getByRole("button").focus()
  await page.keyboard.press("Enter")
  await code.getByText("Copied").waitFor()
  const copied = await page.evaluate<string>("navigator.clipboard.readText()")
  expect(copied).toBe(
    '// npm install @vapi-ai/web\nimport "voicegate-widget/react"\n\nexport const Support = () => (\n  <voice-agent gate="http://localhost:8080" sdk={() => import("@vapi-ai/web")} />\n)',
  )
})

for (const scheme of ["light", "dark"] as const) {
  it(`has no accessibility violation while it shows what the search found, in ${scheme}`, async () => {
    await page.emulateMedia({ colorScheme: scheme })
    await page.getByRole("combobox").fill("webhook")
    await page.getByRole("option").first().waitFor()
    expect(await violations()).toEqual([])
  })
}

it("fits a phone's width, with what the search shows", async () => {
  await page.setViewportSize({ width: 360, height: 700 })
  const width = await page.evaluate<number>("document.documentElement.scrollWidth")
  expect(width).toBeLessThanOrEqual(360)
  const box = await page.locator(".results").boundingBox()
  expect(box?.x).toBeGreaterThanOrEqual(0)
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(360)
})

it("leads from the old address of a section to the page where it is now", async () => {
  await page.setViewportSize({ width: 1100, height: 800 })
  await page.goto(`${origin}/docs/operating#circuit-breaker`)
  await page.waitForURL(`${origin}/docs/failures#circuit-breaker`)
  await page.goto(`${origin}/docs#3-put-the-widget-on-your-page`)
  await page.waitForURL(`${origin}/docs/start#4-put-the-widget-on-your-page`)
})

it("shows the links to documents and sections at once on a wide page, and on a phone after a tap, with the text before", async () => {
  await page.setViewportSize({ width: 1300, height: 800 })
  await page.goto(`${origin}/docs/wire`)
  const links = [page.locator(".documents a[href=operating]"), page.locator(".contents a[href='#signalr-hub']")]
  const shown = (): Promise<ReadonlyArray<boolean>> => Promise.all(links.map((link) => link.isVisible()))
  expect(await shown()).toEqual([true, true])
  await page.setViewportSize({ width: 360, height: 700 })
  expect(await shown()).toEqual([false, false])
  const title = await page.getByRole("heading", { level: 1 }).boundingBox()
  expect(title?.y).toBeLessThan(250)
  await page.getByText("All documents").focus()
  await page.keyboard.press("Enter")
  await page.getByText("On this page").click()
  expect(await shown()).toEqual([true, true])
  const width = await page.evaluate<number>("document.documentElement.scrollWidth")
  expect(width).toBeLessThanOrEqual(360)
  expect(await violations()).toEqual([])
})
