/** The built dashboard in a real browser, against an API with nothing behind it: sign-in, and a session that ends. */

import { describe, expect, it } from "vitest"
import { PASSWORD } from "./fake-dashboard-state.ts"
import { click, dialog, EMAIL, heading, holds, titled, typePassword, useDashboard, visit } from "./rig.ts"

const dashboard = useDashboard()

describe("signing in", () => {
  it("refuses a wrong password, says so, and then takes the right one", async () => {
    const tab = await dashboard.openTab()
    await heading(tab, "Sign in")
    await tab.getByLabel("Email address").fill(EMAIL)
    await typePassword(tab, "wrong")
    await tab.getByRole("alert").getByText("Incorrect email or password.").waitFor()
    await typePassword(tab, PASSWORD)
    await heading(tab, "Overview")
    await titled(tab, "Overview · voicegate platform")
    await tab.reload()
    await heading(tab, "Overview")
    expect(await tab.evaluate("document.cookie")).toBe("")
  })

  it("asks for missing input before it asks the platform", async () => {
    const tab = await dashboard.openTab()
    await click(tab, "Sign in")
    await tab.getByText("Enter your email address.").waitFor()
    await tab.getByLabel("Email address").and(tab.locator("[aria-invalid=true]")).waitFor()
  })

  it("ends the session on the platform when somebody signs out", async () => {
    const tab = await dashboard.signIn()
    expect(dashboard.platform.state.sessions.size).toBe(1)
    await click(tab, "Sign out")
    await heading(tab, "Sign in")
    expect(dashboard.platform.state.sessions.size).toBe(0)
    await tab.reload()
    await heading(tab, "Sign in")
  })

  it("returns to the page that the URL names", async () => {
    const tab = await dashboard.signIn("#/audit")
    await heading(tab, "Audit log")
  })
})

describe("a session that ends while the page is open", () => {
  it("is renewed over the form that was being filled in, and the action is then carried out", async () => {
    const tab = await dashboard.signIn("#/keys")
    await click(tab, "Create API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    dashboard.platform.state.sessions.clear()
    await click(tab, "Create key")
    const again = dialog(tab, "Your session has ended")
    await again.waitFor()
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await holds(again.getByLabel("Email address"), EMAIL)
    await typePassword(tab, PASSWORD)
    await dialog(tab, /Secret for “Gate”/).waitFor()
    expect(dashboard.platform.state.keys).toHaveLength(1)
  })

  it("can be replaced by another account, which starts with a new page", async () => {
    const tab = await dashboard.signIn("#/audit")
    await tab.getByText("No activity yet.").waitFor()
    dashboard.platform.state.sessions.clear()
    await visit(tab, "Live")
    await dialog(tab, "Your session has ended").waitFor()
    await click(tab, "Use a different account")
    await heading(tab, "Sign in")
    await tab.getByRole("dialog").waitFor({ state: "detached" })
  })
})
