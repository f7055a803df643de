/** The built dashboard in a real browser, against an API with nothing behind it: its pages, and how they look. */
import axe from "axe-core"
import { describe, expect, it } from "vitest"
import type { Transcript } from "../../src/platform/http/dashboard/shapes.ts"
import {
  announced,
  BAKERY,
  click,
  copied,
  dialog,
  heading,
  holds,
  later,
  useDashboard,
  visit,
} from "./dashboard-rig.ts"

const dashboard = useDashboard()

describe("businesses and web campaigns", () => {
  it("are added, copied, edited without showing what is secret, and deleted", async () => {
    const tab = await dashboard.signIn("#/businesses")
    await click(tab, "Copy the id of Bakery")
    await announced(tab, "Copied the id of Bakery.")
    await copied(tab, "business-1")

    await click(tab, "Add web campaign to Bakery")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Widget")
    await tab.getByLabel("Longest call, in minutes").fill("1441")
    await tab.getByRole("checkbox", { name: /Tell a server/ }).check()
    await tab.getByLabel("Address").fill("gate.example/hook")
    await tab.getByRole("radio", { name: "Sign with a secret" }).check()
    await click(tab, "Add header")
    await tab.getByLabel("Header 1, name").fill("X-Api-Token")
    await tab.getByLabel("Header 1, value").fill("hook-token")
    await click(tab, "Add web campaign")
    await tab.getByText("Enter an address that begins with https:// or http://.").waitFor()
    await tab.getByText("Enter a whole number of minutes from 1 to 1440.").waitFor()
    await tab.getByLabel("Longest call, in minutes").fill("45")
    await tab.getByLabel("Address").fill("https://gate.example/hook")
    await click(tab, "Add web campaign")
    await announced(tab, "Widget is added.")
    const id = dashboard.platform.state.businesses[0]?.campaigns[0]?.id ?? ""
    expect(dashboard.platform.state.campaignInputs.get(id)?.webhook).toMatchObject({
      url: "https://gate.example/hook",
      headers: [{ name: "X-Api-Token", value: "hook-token" }],
      signing: { type: "set", secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) },
    })

    await click(tab, "Edit Widget")
    await dialog(tab, "Edit web campaign").waitFor()
    await holds(tab.getByLabel("Header 1, value"), "")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Website")
    await click(tab, "Save")
    await announced(tab, "Website is saved.")
    expect(dashboard.platform.state.campaignInputs.get(id)).toEqual({
      name: "Website",
      maxCallMinutes: 45,
      webhook: {
        url: "https://gate.example/hook",
        headers: [{ name: "X-Api-Token", value: null }],
        signing: { type: "keep" },
      },
    })

    await click(tab, "Delete Website")
    await click(tab, "Delete")
    await announced(tab, "Website is deleted.")
    await click(tab, "Delete Dentist")
    await click(tab, "Delete")
    await announced(tab, "Dentist is deleted.")
    expect(dashboard.platform.state.businesses.map(({ name }) => name)).toEqual(["Bakery"])
  })

  it("show markup as text", async () => {
    const tab = await dashboard.signIn("#/businesses")
    await click(tab, "Add business")
    await tab.getByRole("textbox", { name: "Name" }).fill('<img src="x" onerror="document.title=1">')
    await tab.keyboard.press("Enter")
    await tab.getByRole("heading", { name: '<img src="x" onerror="document.title=1">' }).waitFor()
  })
})

describe("conversations, sessions and deliveries", () => {
  const started = 1_790_000_000_000
  const conversation = (number: number): Transcript => ({
    id: `conversation-${number}`,
    businessId: number % 2 === 0 ? "business-1" : "business-2",
    kind: "web",
    clientIdentifier: `visitor-${number}`,
    startedAt: started - number * 60_000,
    endedAt: started - number * 60_000 + 30_000,
    turns: [{ role: "agent", text: `Hello ${number}.`, at: started - number * 60_000 }],
  })

  it("are paginated and filtered, and open a transcript", async () => {
    dashboard.platform.state.conversations.push(...Array.from({ length: 25 }, (_, number) => conversation(number)))
    const tab = await dashboard.signIn("#/conversations")
    await tab.getByText("visitor-19").waitFor()
    expect(await tab.getByText("visitor-20").count()).toBe(0)
    await visit(tab, "Older")
    await tab.getByText("visitor-20").waitFor()
    await tab.reload()
    await tab.getByText("visitor-24").waitFor()
    await tab.goBack()
    await tab.getByText("visitor-19").waitFor()
    await tab.getByLabel("Business").selectOption("Dentist")
    await tab.getByText("visitor-0").waitFor({ state: "detached" })
    await tab.locator("tbody a").first().click()
    await heading(tab, "Conversation")
    await tab.getByText("Hello 1.").waitFor()
    await tab.goBack()
    await tab.getByText("visitor-1", { exact: true }).waitFor()
    await holds(tab.getByLabel("Business"), "business-2")
  })

  it("show a session as soon as it exists, without a reload", async () => {
    const tab = await dashboard.signIn("#/live")
    await tab.getByText("Nothing is running.").waitFor()
    dashboard.platform.state.live.push({
      id: "web-1",
      kind: "web",
      conversationId: "conversation-1",
      businessId: "business-1",
      campaignId: "gone",
      regionId: "local",
      clientIdentifier: "visitor-9",
      state: "talking",
      createdAt: Date.now(),
      joinedAt: Date.now(),
    })
    await later(tab)
    await tab.getByText("visitor-9").waitFor()
    await tab.getByText("1 of 5 calls in use").waitFor()
  })

  it("send a webhook again that was given up", async () => {
    dashboard.platform.state.deliveries.push({
      id: "msg_1",
      businessId: "business-1",
      campaignId: "campaign-1",
      sessionId: "web-1",
      state: "given_up",
      attempts: 36,
      nextAttemptAt: null,
      lastOutcome: "HTTP 503",
      createdAt: Date.now(),
      settledAt: Date.now(),
    })
    const tab = await dashboard.signIn("#/webhooks")
    await tab.getByText("HTTP 503").waitFor()
    await click(tab, "Send msg_1 again")
    await announced(tab, "It is sent again.")
    await tab.getByText("HTTP 200").waitFor()
  })
})

describe("the page itself", () => {
  it("says that the platform does not answer, keeps what it has, and goes on by itself", async () => {
    const tab = await dashboard.signIn("#/live")
    await tab.getByText("Nothing is running.").waitFor()
    dashboard.platform.allowRequests(false)
    await later(tab)
    await tab.getByRole("alert").getByText("Not up to date.").waitFor()
    await tab.getByText("Nothing is running.").waitFor()
    await visit(tab, "Audit")
    await tab.getByText("Could not load the audit trail.").waitFor()
    dashboard.platform.allowRequests(true)
    await later(tab)
    await tab.getByText("Nothing was done yet.").waitFor()
  })

  it("shows what it is loading", async () => {
    const tab = await dashboard.signIn()
    dashboard.platform.state.delayMillis = 800
    await visit(tab, "Audit")
    await tab.getByText("Loading the audit trail …").waitFor()
    await tab.getByText("Nothing was done yet.").waitFor()
  })

  it("fits a phone of 360 pixels on every page and in the longest form", async () => {
    dashboard.platform.state.businesses[0] = {
      ...BAKERY,
      name: "Bakerywithanamethatdoesnotbreakanywhereatallbutmuststillfit",
      campaigns: [
        {
          id: "campaign-1",
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
    for (const name of ["Businesses", "Conversations", "Live", "Webhooks", "Audit", "Account", "API Keys"]) {
      await visit(tab, name)
      await heading(tab, name)
      await tab.locator(".state[role=status]").waitFor({ state: "detached" })
      expect([name, await overflow()]).toEqual([name, 0])
    }
    await visit(tab, "Businesses")
    await click(tab, "Edit Widget")
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
      for (const name of ["Businesses", "Conversations", "Live", "Webhooks", "Audit", "Account", "API Keys"]) {
        await visit(tab, name)
        await heading(tab, name)
        await tab.locator(".state[role=status]").waitFor({ state: "detached" })
        expect([colorScheme, name, await found()]).toEqual([colorScheme, name, []])
      }
      await click(tab, "Add API key")
      await dialog(tab, "Add API key").waitFor()
      expect([colorScheme, "new key", await found()]).toEqual([colorScheme, "new key", []])
      await tab.keyboard.press("Escape")
      await dialog(tab, "Add API key").waitFor({ state: "detached" })
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
