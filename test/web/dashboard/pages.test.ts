/** The built dashboard in a real browser, against an API with nothing behind it: its frame, and how all pages look. */
import axe from "axe-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../harness/process.ts"
import { focusOn } from "../focus.ts"
import { layoutShifts } from "../layout-shift.ts"
import { BAKERY, choose, click, dialog, heading, later, useDashboard, visit } from "./rig.ts"

const dashboard = useDashboard()

describe("the page itself", () => {
  it("has a navigation behind a button on a narrow page, which is used by keyboard alone", async () => {
    const tab = await dashboard.signIn("#/account")
    await tab.setViewportSize({ width: 360, height: 780 })
    await tab.reload()
    await heading(tab, "Account")
    const bar = tab.getByRole("navigation", { name: "Platform" })
    const button = tab.getByRole("button", { name: "Menu", exact: true })
    const isOpen = () => button.getAttribute("aria-expanded")
    expect([await bar.count(), await isOpen()]).toEqual([0, "false"])
    await button.press("Enter")
    await bar.waitFor()
    expect(await isOpen()).toBe("true")
    const names = await bar.getByRole("link").allTextContents()
    expect(names).toHaveLength(9)
    for (const name of names) {
      await tab.keyboard.press("Tab")
      await focusOn(tab, name)
      const box = await bar.getByRole("link", { name, exact: true }).boundingBox()
      expect([name, box !== null && box.x >= 0 && box.x + box.width <= 360]).toEqual([name, true])
    }
    // a choice closes it, and so does Escape, which leads back to the button
    await tab.keyboard.press("Enter")
    await bar.waitFor({ state: "detached" })
    await focusOn(tab, "Account")
    await button.press("Enter")
    await tab.keyboard.press("Tab")
    await tab.keyboard.press("Escape")
    await bar.waitFor({ state: "detached" })
    await focusOn(tab, "Menu")
    await button.press("Enter")
    await bar.getByRole("link", { name: "Live", exact: true }).press("Enter")
    await heading(tab, "Live")
    expect(await bar.count()).toBe(0)
    // it is needless where the links have room
    for (const width of [1_280, 960]) {
      await tab.setViewportSize({ width, height: 780 })
      await bar.waitFor()
      expect([await button.count(), (await bar.boundingBox())?.width ?? 0]).toEqual([0, expect.any(Number)])
      expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    }
    expect((await bar.boundingBox())?.height).toBeLessThan(70)
  })

  it("keeps the edge that forced colours give “Sign out” inside the page", async () => {
    const tab = await dashboard.signIn()
    await tab.emulateMedia({ forcedColors: "active" })
    const box = await tab.getByRole("button", { name: "Sign out" }).boundingBox()
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(1_180)
  })

  it.each([1200, 360])("shifts its layout by less than 0.02 while a page loads, at %i px", async (width) => {
    dashboard.platform.state.delayMillis = 200
    const tab = await dashboard.signIn("#/businesses")
    await tab.setViewportSize({ width, height: 800 })
    for (const page of [
      "overview",
      "keys",
      "businesses",
      "conversations",
      "live",
      "webhooks",
      "audit",
      "setup",
      "account",
    ]) {
      await tab.goto(`${dashboard.platform.url}#/${page}`)
      await tab.reload()
      // a page and the notice that it loads are drawn together
      await tab.locator("#main h1").waitFor()
      await eventually("everything is loaded", async () => (await tab.getByText(/^Loading /).count()) === 0)
      const { sum, text } = await layoutShifts(tab)
      expect(sum, `${page}: ${text}`).toBeLessThan(0.02)
    }
  })

  it("says that the platform does not answer, keeps what it has, and goes on by itself", async () => {
    const tab = await dashboard.signIn("#/live")
    await tab.getByText("No live calls.").waitFor()
    dashboard.platform.allowRequests(false)
    await later(tab)
    await tab.getByRole("alert").getByText("This may be out of date.").waitFor()
    await tab.getByText("No live calls.").waitFor()
    await visit(tab, "Audit log")
    await tab.getByText("Couldn’t load the audit log.").waitFor()
    dashboard.platform.allowRequests(true)
    await later(tab)
    await tab.getByText("No activity yet.").waitFor()
  })

  it("shows what it is loading", async () => {
    const tab = await dashboard.signIn()
    dashboard.platform.state.delayMillis = 800
    await visit(tab, "Audit log")
    await tab.getByText("Loading the audit log…").waitFor()
    await tab.getByText("No activity yet.").waitFor()
  })

  it("fits a phone of 360 pixels on every page and in the longest form", async () => {
    const id = "6d9e97ea-ef5b-4927-95b9-775ee87e83d5"
    const { businesses, conversations, deliveries } = dashboard.platform.state
    const times = { startedAt: Date.now(), endedAt: null }
    conversations.push({ id, businessId: id, kind: "web", clientIdentifier: null, ...times, turns: [] })
    const about = { id, businessId: id, campaignId: id, sessionId: id, body: "{}", log: [] }
    const attempts = { attempts: 0, nextAttemptAt: null, lastOutcome: null, createdAt: Date.now(), settledAt: null }
    deliveries.push({ ...about, ...attempts, state: "pending" })
    businesses[0] = {
      ...BAKERY,
      id,
      name: "Bakerywithanamethatdoesnotbreakanywhereatallbutmuststillfit",
      campaigns: [
        {
          id,
          name: "Widget",
          maxCallMinutes: 120,
          createdAt: 0,
          webhook: { url: `https://gate.example/${"long".repeat(30)}`, headerNames: ["X-Api-Token"], signed: true },
        },
      ],
    }
    const tab = await dashboard.signIn()
    await tab.setViewportSize({ width: 360, height: 740 })
    const overflow = () => tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    for (const name of [
      "Overview",
      "Businesses",
      "Conversations",
      "Live",
      "Webhooks",
      "Audit log",
      "Account",
      "API keys",
    ]) {
      await visit(tab, name)
      await heading(tab, name)
      await tab.locator(".state[role=status]").waitFor({ state: "detached" })
      expect([name, await overflow()]).toEqual([name, 0])
    }
    for (const page of [`conversations/${id}?business=${id}`, `webhooks/${id}`]) {
      await tab.goto(`${dashboard.platform.url}#/${page}`)
      await tab.getByText(id).first().waitFor()
      expect([page, await overflow()]).toEqual([page, 0])
    }
    await visit(tab, "Businesses")
    await choose(tab, "Edit Widget")
    await dialog(tab, "Edit web campaign").waitFor()
    const inside = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog'))"
    expect(await tab.evaluate(inside)).toBe(0)
  })

  it("has nothing that axe finds wrong, on any page and in the dialog of a new key, in the light and in the dark", async () => {
    const tab = await dashboard.signIn()
    // the page's policy forbids scripts in it, so axe is evaluated from outside
    await tab.evaluate(axe.source)
    const found = () =>
      tab.evaluate(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))',
      )
    for (const colorScheme of ["light", "dark"] as const) {
      await tab.emulateMedia({ colorScheme })
      for (const name of [
        "Overview",
        "Businesses",
        "Conversations",
        "Live",
        "Webhooks",
        "Audit log",
        "Account",
        "API keys",
      ]) {
        await visit(tab, name)
        await heading(tab, name)
        await tab.locator(".state[role=status]").waitFor({ state: "detached" })
        expect([colorScheme, name, await found()]).toEqual([colorScheme, name, []])
      }
      await click(tab, "Create API key")
      await dialog(tab, "Create API key").waitFor()
      expect([colorScheme, "new key", await found()]).toEqual([colorScheme, "new key", []])
      await tab.keyboard.press("Escape")
      await dialog(tab, "Create API key").waitFor({ state: "detached" })
    }
  })

  it("is served with a policy that allows no other origin and no frame", async () => {
    const response = await fetch(dashboard.platform.url)
    const policy = response.headers.get("content-security-policy")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
    expect(response.headers.get("x-content-type-options")).toBe("nosniff")
    const html = await response.text()
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style| on\w+=|style="/)
    dashboard.hosts.add(new URL(dashboard.platform.url).host)
  })
})
