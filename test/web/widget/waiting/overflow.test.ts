/** Who would wait long is offered another campaign of the gate, in a real browser: the page asks there, and leaves here once it has a place there. */
import type { Page } from "playwright-core"
import { assert, describe, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import type { Options } from "../../rig.ts"
import { click, place, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

const SETTINGS: Options["settings"] = {
  VoiceAiPlatform: {
    MaxConcurrency: 1,
    Overflow: {
      AfterSeconds: 0,
      Offers: [
        "Ask the sales agent campaign:sales",
        "Call the shop tel:+49301234567",
        "Write to us https://shop.example/",
      ],
    },
    Campaigns: { sales: { WebCampaignId: "campaign-of-sales", MaxConcurrency: 1 } },
  },
}

/** The page's requests that take or give up a place, in order: to a campaign, or of a ticket. */
const placesOf = (tab: Page): ReadonlyArray<string> => {
  const asked: Array<string> = []
  tab.on("request", (request) => {
    const { pathname, search } = new URL(request.url())
    if (request.method() === "POST" && pathname.endsWith("/session/request")) {
      const { campaignId = "" }: { readonly campaignId?: string } = request.postDataJSON()
      asked.push(`asks ${campaignId}`.trim())
    }
    if (request.method() === "DELETE") asked.push(`leaves${search}`)
  })
  return asked
}

const waiting = async (): Promise<Page> => {
  const tab = await widget.open()
  await click(tab, "Start a call")
  await screen(tab, "Your place in the queue")
  return tab
}

describe("a caller who waits, and is offered another campaign", () => {
  it("asks there first, then leaves here, and keeps the new place over a reload", async () => {
    await widget.begin({ slots: 2, settings: SETTINGS })
    await widget.rig.hold()
    await widget.rig.operate("pause", undefined, "sales")
    const first = await waiting()
    const second = await waiting()
    await place(second, 2)
    await see(first, "Other ways to reach us")
    const number = first.getByRole("link", { name: "Call the shop" })
    assert.strictEqual(await number.getAttribute("href"), "tel:+49301234567")
    assert.strictEqual(await first.getByRole("link", { name: "Write to us" }).getAttribute("target"), "_blank")
    const asked = placesOf(first)
    await click(first, "Ask the sales agent")
    await eventually("the page has left", () => asked.some((each) => each.startsWith("leaves")))
    assert.deepStrictEqual(asked, ["asks sales", "leaves?taken=campaign"])
    // nobody is before the second one any more, and the first one is the first there
    await place(second, 1)
    await screen(first, "Your place in the queue")
    await place(first, 1)
    // the other campaign inherits the offers, but for the one of itself
    await first.getByRole("link", { name: "Call the shop" }).waitFor()
    assert.strictEqual(await first.getByRole("button", { name: "Ask the sales agent" }).count(), 0)
    await first.reload()
    await place(first, 1)
    await widget.rig.operate("drain")
    await place(first, 1)
  })

  it("keeps the place here if there is none there, and is told so", async () => {
    await widget.begin({ slots: 2, settings: SETTINGS })
    await widget.rig.hold()
    await widget.rig.operate("drain", undefined, "sales")
    const tab = await waiting()
    const asked = placesOf(tab)
    await click(tab, "Ask the sales agent")
    await see(tab, "That isn’t available right now. You’ll keep your place.")
    await place(tab, 1)
    assert.deepStrictEqual(asked, ["asks sales"])
  })
})
