/** The code of headless.md, as pages of a site run it beside the built demo. */
import type { Browser } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { readDocument } from "../../scripts/docs/documents.ts"
import { program } from "../harness/build.ts"
import { eventually, start } from "../harness/process.ts"
import { sharedBrowser } from "../support/browser.ts"
import { whenWebBuilt } from "../web/rig.ts"
import { startSite } from "../web/site.ts"
import { visit } from "../web/visitor.ts"

let browser: Browser
beforeAll(async () => {
  ;[, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
})

/** The first code of a language below a heading. */
const codeBelow = (heading: string, language: string): string => {
  const [, below = ""] = readDocument("headless").split(`\n${heading}\n`)
  const [, code = ""] = below.split(`\`\`\`${language}\n`)
  return code.split("\n```")[0] ?? ""
}

const ADDRESS = /voicegate demo +(http\S+)\//

/** The demo with the fake of Vapi, which two callers can call at once, and a page of another origin, which may call too. */
const withPage = async (
  bodyOf: (gate: string) => string,
  test: (visitor: Awaited<ReturnType<typeof visit>>, site: string) => Promise<void>,
): Promise<void> => {
  let body = ""
  const site = await startSite((_, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body)
  })
  const options = ["demo", "--port", "0", "--vendor", "vapi", "--allow-origin", site.origin]
  const demo = await start(process.execPath, [program, ...options], process.cwd())
  try {
    await eventually("the demo's address", () => ADDRESS.test(demo.output()))
    body = `<!doctype html><html lang="en"><title>Shop</title>${bodyOf(ADDRESS.exec(demo.output())?.[1] ?? "")}</html>`
    const visitor = await visit(browser)
    try {
      await test(visitor, site.origin)
      expect(visitor.complaints).toEqual([])
    } finally {
      await visitor.context.close()
    }
  } finally {
    await demo.stop()
    await site.stop()
  }
}

describe("headless.md", () => {
  it("has a page that calls, waits and hangs up by the headless client", async () => {
    const pageOf = (gate: string): string =>
      codeBelow("## The headless client", "html")
        .replaceAll("https://gate.example", gate)
        .replace("/vapi.js", `${gate}/demo-agent.js`)
    await withPage(pageOf, async (visitor, site) => {
      const [first, second, third] = [await visitor.open(site), await visitor.open(site), await visitor.open(site)]
      for (const tab of [first, second]) {
        await tab.getByRole("button", { name: "Talk" }).click()
        await tab.getByText("in-call").waitFor()
      }
      await third.getByRole("button", { name: "Talk" }).click()
      await third.getByText("waiting at place 1").waitFor()
      await first.getByRole("button", { name: "Leave" }).click()
      await first.getByText("ended").waitFor()
      await third.getByText("your-turn").waitFor()
      await third.getByRole("button", { name: "Start the call" }).click()
      await third.getByText("in-call").waitFor()
    })
  })

  it("has code that asks, waits and starts by the two calls of the gate, and says why it cannot", async () => {
    const pageOf = (gate: string): string =>
      `<script type="module">${codeBelow("## The two calls", "js").replaceAll("https://gate.example", gate)}
      const places = []
      const tickets = []
      let turns = 0
      const onTurn = async () => { turns += 1 }
      const onTicket = (ticket) => tickets.push(ticket)
      const onPlace = (n) => places.push(n)
      Object.assign(window, { post, places, tickets, ask: (request) => session({ onTicket, onPlace, onTurn, ...request }) })
      window.turnsOf = () => turns</script>`
    await withPage(pageOf, async (visitor, site) => {
      const tab = await visitor.open(site)
      await tab.waitForFunction("window.ask")
      const started =
        await tab.evaluate<ReadonlyArray<{ readonly uniqueRequestId: string; readonly credential: object }>>(
          "Promise.all([ask(), ask()])",
        )
      for (const { credential } of started)
        expect(credential).toMatchObject({ platform: "vapi", shape: "url", url: expect.stringMatching(/^https:/) })
      await tab.evaluate("ask({ dynamicVariables: { name: 'Tom' } }).then((started) => { window.third = started }), 0")
      await tab.waitForFunction("places.length > 0")
      await tab.evaluate(`post("/api/session/${started[0]?.uniqueRequestId}/leave").catch(() => {})`)
      await tab.waitForFunction("window.third")
      expect(await tab.evaluate("window.third")).toMatchObject({ credential: { platform: "vapi" } })
      expect(await tab.evaluate("tickets[2] === window.third.uniqueRequestId")).toBe(true)
      expect(await tab.evaluate("turnsOf()")).toBeGreaterThan(0)
      expect(await tab.evaluate("places[0]")).toBe(1)
      const refused = "ask({ clientIdentifier: 7 }).catch(({ code, status, message }) => ({ code, status, message }))"
      expect(await tab.evaluate(refused)).toMatchObject({ code: "invalid_request", status: 400 })
    })
  })
})
