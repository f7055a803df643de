/** The menu of a row in the built dashboard: where it is while the page moves under it. */
import type { Locator, Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import type { DeliveryDetail } from "../../../src/platform/http/dashboard/shapes.ts"
import { eventually } from "../../harness/process.ts"
import { later, useDashboard } from "./rig.ts"

const dashboard = useDashboard()

const delivery = (number: number): DeliveryDetail => ({
  id: `msg_${number}`,
  businessId: "business-1",
  campaignId: "campaign-1",
  sessionId: `web-${number}`,
  state: "given_up",
  attempts: 36,
  nextAttemptAt: null,
  lastOutcome: "HTTP 503",
  createdAt: Date.now() - 86_400_000,
  settledAt: Date.now(),
  body: "{}",
  log: [],
})

/** How far the menu begins below its button, in pixels. */
const below = async (menu: Locator, button: Locator): Promise<number> => {
  const [box, at] = [await menu.boundingBox(), await button.boundingBox()]
  return box === null || at === null ? Number.NaN : box.y - at.y - at.height
}

const frame = (tab: Page) =>
  tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

describe("the menu of a row", () => {
  it("stays beside its row when another row comes above it", async () => {
    const { deliveries } = dashboard.platform.state
    deliveries.push(delivery(1))
    const tab = await dashboard.signIn("#/webhooks")
    const button = tab.getByRole("row").getByRole("button").last()
    await button.click()
    const menu = tab.getByRole("menu").filter({ has: tab.getByRole("menuitem", { name: "Resend msg_1" }) })
    expect(await below(menu, button)).toBeCloseTo(4, 0)
    const before = (await button.boundingBox())?.y ?? 0
    deliveries.unshift(delivery(2))
    await later(tab)
    await eventually("the row has moved", async () => ((await button.boundingBox())?.y ?? 0) > before + 20)
    expect(await below(menu, button)).toBeCloseTo(4, 0)
    await tab.setViewportSize({ width: 1_000, height: 800 })
    await frame(tab)
    expect(await below(menu, button)).toBeCloseTo(4, 0)
  })

  it("is closed by a scroll that moves its row, and by no other", async () => {
    dashboard.platform.state.deliveries.push(...Array.from({ length: 9 }, (_, index) => delivery(index)))
    const tab = await dashboard.signIn("#/webhooks")
    await tab.setViewportSize({ width: 1_200, height: 500 })
    await tab.getByRole("row").getByRole("button").first().waitFor()
    // the page is told of the scroll only after the menu has been opened again
    await tab.evaluate(`(() => {
      const button = document.querySelector(".menu > button")
      button.click()
      button.click()
      scrollBy(0, 40)
      button.click()
    })()`)
    await frame(tab)
    expect(await tab.getByRole("menu").count()).toBe(1)
    await tab.evaluate("scrollBy(0, -40)")
    await tab.getByRole("menu").waitFor({ state: "detached" })
  })
})
