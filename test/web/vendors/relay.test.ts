/** A call whose offer goes through the gate, between two pages of a real browser. The gate's side is a double. */
import type { Browser, Page } from "playwright-core"
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { makeFakeGeneric } from "../../../src/platform-api/generic/fake.ts"
import { eventually } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { type Built, whenWebBuilt } from "../rig.ts"
import { click, level, screen, see, type Visitor, visit } from "../visitor.ts"
import { openAnsweringPage } from "./answering-page.ts"
import { startVendorRig, type VendorRig } from "./rig.ts"

let built: Built
let browser: Browser
beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
})

/** A page with the widget. Its request gets a credential for an offer; `answer` answers that offer. */
const openPage = async (
  rig: VendorRig,
  visitor: Visitor,
  answer: (sdp: string) => Promise<string>,
): Promise<{ readonly tab: Page; readonly offers: ReadonlyArray<Record<string, string>> }> => {
  rig.files["/"] = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title>
    <script type="module" src="${rig.url}widget.js"></script><voice-agent gate="${rig.url}"></voice-agent></html>`
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
    return route.fulfill({ headers: cors, status: 201, body: await answer(sdp) })
  })
  return { tab: await visitor.open(rig.site), offers }
}

/** Keeps the connections that a page opens, to read their states. */
const KEEP_PEERS = `window.peers = []
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...all) {
    super(...all)
    window.peers.push(this)
  }
}`

/** The states of the page's connections, and the type of each remote description. */
const peerStates = (tab: Page): Promise<ReadonlyArray<string>> =>
  tab.evaluate<ReadonlyArray<string>>(
    "window.peers.map(({ remoteDescription, signalingState }) => signalingState + ' ' + remoteDescription?.type)",
  )

describe("a call by an offer through the gate", () => {
  let rig: VendorRig
  let visitor: Visitor
  beforeEach(async () => {
    rig = await startVendorRig(built, makeFakeGeneric(Date.now))
    visitor = await visit(browser, { permissions: ["microphone"] })
  })
  afterEach(async () => {
    await visitor.context.close()
    await rig.stop()
  })

  it("needs no SDK: sound both ways, text, and the end", async () => {
    const agent = await openAnsweringPage(rig, visitor)
    const { offers, tab } = await openPage(rig, visitor, agent.answer)
    await click(tab, "Start a call")
    await screen(tab, "In call")
    expect(offers).toHaveLength(1)
    expect(offers[0]).toMatchObject({
      "content-type": "application/sdp",
      authorization: "Bearer bearer-of-the-offer",
    })
    await agent.talk()
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
  })

  it("is closed when the visitor cancels before the answer, and the gate is not waited for", async () => {
    await visitor.context.addInitScript(KEEP_PEERS)
    let offers = 0
    const { tab } = await openPage(rig, visitor, () => {
      offers++
      return new Promise(() => {})
    })
    const abandoned = tab.waitForEvent("requestfailed", (request) => request.url().endsWith("/offer"))
    await click(tab, "Start a call")
    await eventually("the offer", () => offers === 1)
    await click(tab, "Cancel")
    await abandoned
    await eventually("the page has closed its connection", async () =>
      (await peerStates(tab)).includes("closed undefined"),
    )
    expect(visitor.complaints).toEqual([])
  })

  it("is closed when the visitor cancels after the answer", async () => {
    await visitor.context.addInitScript(KEEP_PEERS)
    const agent = await openAnsweringPage(rig, visitor)
    // with a wrong password ICE fails, so the call never connects
    const wrong = `a=ice-pwd:${"x".repeat(24)}`
    const { tab } = await openPage(rig, visitor, async (sdp) =>
      (await agent.answer(sdp)).replaceAll(/^a=ice-pwd:\S+/gm, wrong),
    )
    await click(tab, "Start a call")
    await eventually("the page has the answer", async () => (await peerStates(tab)).includes("stable answer"))
    await click(tab, "Cancel")
    await eventually("the page has closed its connection", async () =>
      (await peerStates(tab)).includes("closed answer"),
    )
    expect(visitor.complaints).toEqual([])
  })
})
