/** The built dashboard in a real browser, against an API with nothing behind it: what is first to be seen. */
import axe from "axe-core"
import { describe, expect, it } from "vitest"
import type { DeliveryDetail } from "../../../src/platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../src/platform/keys/ApiKey.ts"
import { BAKERY, heading, later, useDashboard, visit } from "./rig.ts"

const dashboard = useDashboard()

const DAY = 86_400_000

const key = (name: string, expiresAt: number | null): ApiKey => ({
  id: `key-${name}`,
  name,
  display: "vgp_…abcd",
  scope: { type: "Unrestricted" },
  permissions: ["start"],
  userManagement: false,
  allowedAddresses: [],
  createdAt: 0,
  expiresAt,
  lastUsedAt: null,
  revokedAt: null,
  previousSecretUntil: null,
})

const campaign = { id: "campaign-1", name: "Website", maxCallMinutes: 30, createdAt: 0, webhook: null }

const failed = (): DeliveryDetail => ({
  id: "msg_1",
  businessId: BAKERY.id,
  campaignId: campaign.id,
  sessionId: "web-1",
  state: "given_up",
  attempts: 36,
  nextAttemptAt: null,
  lastOutcome: "HTTP 503",
  createdAt: Date.now() - 60_000,
  settledAt: null,
  body: "{}",
  log: [],
})

describe("the overview", () => {
  it("leads a new account to the setup", async () => {
    const tab = await dashboard.signIn()
    await heading(tab, "Overview")
    await tab.getByText("No calls yet.").waitFor()
    await visit(tab, "Set up a gate")
    await heading(tab, "Set up a gate")
  })

  it("shows calls of today and now, the last webhook and what failed, and keys that end soon", async () => {
    const { state } = dashboard.platform
    const begun = Date.now() - 1_000
    state.businesses.splice(0, 1, { ...BAKERY, campaigns: [campaign] })
    state.conversations.push({
      id: "conversation-1",
      businessId: BAKERY.id,
      kind: "web",
      clientIdentifier: "visitor-1",
      startedAt: begun,
      endedAt: begun + 90_000,
      turns: [],
    })
    state.deliveries.push(failed(), { ...failed(), id: "msg_2", state: "pending", attempts: 1 })
    state.keys.push(key("Gate", Date.now() + 3 * DAY), key("Partner", Date.now() + 90 * DAY), key("Old", 1))
    const tab = await dashboard.signIn()
    const card = (title: string) =>
      tab.locator(".card").filter({ has: tab.getByRole("link", { name: title, exact: true }) })
    await card("Calls today").getByText("1 min 30 s in total").waitFor()
    await card("Running now").getByText("0 of 5").waitFor()
    await card("Last webhook").getByText("1 minute ago").waitFor()
    await card("Last webhook").getByText("Website").waitFor()
    await card("Keys about to expire").getByText("1 of 2").waitFor()
    await tab.getByRole("img", { name: /^Calls by hour: 1 call, most from .+: 1 call\.$/ }).waitFor()
    await tab.getByRole("table", { name: "The last conversations" }).getByText("visitor-1").waitFor()

    state.live.push({
      id: "web-1",
      kind: "web",
      conversationId: "conversation-2",
      businessId: BAKERY.id,
      campaignId: campaign.id,
      regionId: "local",
      clientIdentifier: null,
      state: "talking",
      createdAt: begun,
      joinedAt: begun,
    })
    await later(tab)
    await later(tab)
    await card("Running now").getByText("1 of 5").waitFor()

    // at the limit it says so, and stands out
    const colorOf = () => tab.evaluate("getComputedStyle(document.querySelectorAll('.cards .card')[1]).backgroundColor")
    const calm = await colorOf()
    expect(await card("Running now").getByText("Limit reached.").count()).toBe(0)
    state.limit = 1
    await later(tab)
    await later(tab)
    await card("Running now").getByText("Limit reached. New calls are rejected until one ends.").waitFor()
    expect(await colorOf()).not.toBe(calm)
    await tab.evaluate(axe.source)
    expect(await tab.evaluate("axe.run(document).then(({ violations }) => violations)")).toEqual([])

    await visit(tab, "1 failed in the last 24 hours")
    await heading(tab, "Webhooks")
    expect(await tab.getByLabel("State").inputValue()).toBe("given_up")
    await tab.goBack()
    await visit(tab, "1 retrying now")
    await heading(tab, "Webhooks")
    expect(await tab.getByLabel("State").inputValue()).toBe("pending")
    await tab.getByText("Retrying", { exact: true }).waitFor()
    await tab.goBack()
    // nothing runs out of its card on a phone
    await tab.setViewportSize({ width: 360, height: 800 })
    await card("Keys about to expire").getByText("1 of 2").waitFor()
    const cards = tab.locator(".cards .card")
    expect(await cards.evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth))).toEqual([
      0, 0, 0, 0,
    ])
    await card("Keys about to expire")
      .getByRole("link", { name: /^Gate:/ })
      .click()
    await heading(tab, "Gate")
  })
})
