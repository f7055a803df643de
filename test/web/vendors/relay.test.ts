/** A call whose offer goes through the gate, between two pages of a real browser. The gate's side is a double. */
import type { Browser } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../../../scripts/harness/process.ts"
import { makeFakeGeneric } from "../../../src/testing/vendors/FakeGeneric.ts"
import { launchBrowser } from "../../support/browser.ts"
import { type Built, whenWebBuilt } from "../rig.ts"
import { click, level, screen, see, visit } from "../visitor.ts"
import { openAnsweringPage } from "./answering-page.ts"
import { startVendorRig } from "./rig.ts"

let built: Built
let browser: Browser
beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), launchBrowser()])
})
afterAll(() => browser?.close())

describe("a call by an offer through the gate", () => {
  it("needs no SDK: sound both ways, text, and the end", async () => {
    const rig = await startVendorRig(built, makeFakeGeneric(Date.now))
    const visitor = await visit(browser, { permissions: ["microphone"] })
    try {
      rig.files["/"] = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>
        <script type="module" src="${rig.url}widget.js"></script><voice-agent gate="${rig.url}"></voice-agent></html>`
      const agent = await openAnsweringPage(rig, visitor)
      const offers: Array<Record<string, string>> = []
      const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "authorization, content-type" }
      await visitor.context.route(`${rig.url}api/session/request`, (route) =>
        route.fulfill({
          headers: cors,
          json: {
            status: "started",
            sessionId: "session",
            uniqueRequestId: "ticket",
            credential: {
              shape: "sdp-relay",
              platform: "openai",
              url: "/api/session/ticket/offer",
              token: "bearer-of-the-offer",
            },
          },
        }),
      )
      await visitor.context.route(`${rig.url}api/session/ticket/offer`, async (route) => {
        if (route.request().method() === "OPTIONS") return route.fulfill({ headers: cors })
        offers.push(route.request().headers())
        const sdp = route.request().postData() ?? ""
        return route.fulfill({ headers: cors, status: 201, body: await agent.answer(sdp) })
      })
      const tab = await visitor.open(rig.site)
      await click(tab, "Start talking")
      await screen(tab, "In call")
      expect(offers).toHaveLength(1)
      expect(offers[0]).toMatchObject({
        "content-type": "application/sdp",
        authorization: "Bearer bearer-of-the-offer",
      })
      await see(tab, "Good morning.")
      await see(tab, "My order is late.")
      await eventually("the caller's level", async () => (await level(tab, "You")) > 0.2)
      await eventually("the agent's level", async () => (await level(tab, "Agent")) > 0.2)
      await tab.getByRole("textbox").fill("Four shirts")
      await tab.keyboard.press("Enter")
      await eventually("the text", async () => (await agent.received()).length === 2)
      expect(await agent.received()).toEqual(["conversation.item.create", "response.create"])
      await click(tab, "Hang up")
      await screen(tab, "Call ended")
      await eventually("the report to the gate", () => rig.asked.includes("DELETE /api/session/:id"))
      expect(visitor.complaints).toEqual([])
    } finally {
      await visitor.context.close()
      await rig.stop()
    }
  })
})
