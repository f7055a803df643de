/** The built dashboard in a real browser, against an API with nothing behind it: API keys. */

import axe from "axe-core"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { focusOn, tabTo } from "../focus.ts"
import { PASSWORD } from "./fake-dashboard-state.ts"
import { announced, choose, click, copied, dialog, EMAIL, heading, holds, useDashboard, visit } from "./rig.ts"

const dashboard = useDashboard()

/** Makes a key restricted to the bakery, and gives its secret with the dialog still open. */
const makeKey = async (tab: Page, name: string): Promise<string> => {
  await click(tab, "Create API key")
  await tab.getByRole("textbox", { name: "Name" }).fill(name)
  await tab.getByRole("checkbox", { name: "Bakery" }).check()
  await click(tab, "Create key")
  return tab.getByRole("textbox", { name: "Secret" }).inputValue()
}

describe("API keys", () => {
  it("shows a new key's secret once, copies it, and lists its display form only", async () => {
    const tab = await dashboard.signIn("#/keys")
    await tab.getByText("No API keys yet.").waitFor()
    const secret = await makeKey(tab, "Gate")
    expect(secret).toBe(dashboard.platform.state.secrets[0])
    await tab.getByText("You won’t see this secret again.").waitFor()
    await tab.keyboard.press("Escape")
    await tab.keyboard.press("Escape")
    await dialog(tab, /Secret for “Gate”/).waitFor()
    await click(tab, "Copy the secret")
    await announced(tab, "Copied the secret.")
    await copied(tab, secret)
    await click(tab, "Done")
    await dialog(tab, /Secret for “Gate”/).waitFor({ state: "detached" })

    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText(`vgp_…${secret.slice(-4)}`).waitFor()
    await row.getByText("Bakery", { exact: true }).waitFor()
    expect(await tab.content()).not.toContain(secret)
    await tab.reload()
    await row.waitFor()
    expect(await tab.content()).not.toContain(secret)
    expect(JSON.stringify(await tab.evaluate("[localStorage, sessionStorage, history.state]"))).not.toContain(secret)
    expect(dashboard.platform.state.keys[0]).toMatchObject({
      scope: { type: "Restricted", businessIds: ["business-1"] },
      permissions: ["start", "read", "manage"],
      userManagement: false,
      allowedAddresses: [],
    })
    // a key expires unless its owner wants another end
    expect(Math.round(((dashboard.platform.state.keys[0]?.expiresAt ?? 0) - Date.now()) / 86_400_000)).toBe(365)
  })

  it("refuses a restricted key without a business and a key without a name, in the form", async () => {
    const tab = await dashboard.signIn("#/keys")
    await click(tab, "Create API key")
    await click(tab, "Create key")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByText("Select at least one business.").waitFor()
    await focusOn(tab, "Name")
    // an error goes as soon as its field is right, and does not come back while the form is corrected
    await tab.getByRole("textbox", { name: "Name" }).fill("Reporting")
    await tab.getByText("Enter a name.").waitFor({ state: "detached" })
    await focusOn(tab, "Name")
    await tab.getByRole("textbox", { name: "Name" }).fill("")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    await tab.getByText("Select at least one business.").waitFor({ state: "detached" })
    expect(await tab.getByText("Enter a name.").count()).toBe(0)
    await click(tab, "Create key")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByRole("textbox", { name: "Name" }).fill("Reporting")
    await tab.getByRole("checkbox", { name: "Bakery" }).uncheck()
    await click(tab, "Create key")
    await tab.getByText("Select at least one business.").waitFor()
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await tab.getByRole("radio", { name: "Unrestricted" }).check()
    await tab.getByRole("checkbox", { name: "Allow user management requests" }).check()
    await tab.getByLabel("Expires").selectOption("In 30 days")
    await click(tab, "Create key")
    await dialog(tab, /Secret for “Reporting”/).waitFor()
    const [key] = dashboard.platform.state.keys
    expect(key).toMatchObject({ scope: { type: "Unrestricted" }, userManagement: true })
    await click(tab, "I’ve saved it")
    await tab
      .getByRole("row", { name: /Reporting/ })
      .getByText("Manage users", { exact: true })
      .waitFor()
    expect(Math.round(((key?.expiresAt ?? 0) - Date.now()) / 86_400_000)).toBe(30)
  })

  it("narrows nothing at first, refuses a key without a permission, and changes them later", async () => {
    const tab = await dashboard.signIn("#/keys")
    await click(tab, "Create API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    const box = (name: string) => tab.getByRole("checkbox", { name, exact: true })
    expect([await box("Start").isChecked(), await box("Read").isChecked(), await box("Manage").isChecked()]).toEqual([
      true,
      true,
      true,
    ])
    await box("Start").uncheck()
    await box("Read").uncheck()
    await box("Manage").uncheck()
    await click(tab, "Create key")
    await tab.getByText("Select at least one permission.").waitFor()
    await focusOn(tab, "Start")
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await box("Read").check()
    await box("Start").check()
    await click(tab, "Create key")
    await click(tab, "I’ve saved it")
    await tab.getByRole("row", { name: /Gate/ }).getByText("Start, Read").waitFor()
    await choose(tab, "Edit Gate")
    await dialog(tab, "Edit “Gate”").waitFor()
    await box("Read").uncheck()
    await click(tab, "Save")
    await announced(tab, "Gate saved.")
    await tab.getByRole("row", { name: /Gate/ }).getByText("Start, Read").waitFor({ state: "detached" })
    expect(dashboard.platform.state.keys[0]?.permissions).toEqual(["start"])
    await focusOn(tab, "Actions for Gate")
  })

  it("gets another scope and user management later, and both stay when they are not touched", async () => {
    const tab = await dashboard.signIn("#/keys")
    await makeKey(tab, "Gate")
    await click(tab, "I’ve saved it")
    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText("Bakery", { exact: true }).waitFor()
    await choose(tab, "Edit Gate")
    await dialog(tab, "Edit “Gate”").waitFor()
    await tab.getByRole("radio", { name: "Unrestricted" }).check()
    await tab.getByRole("checkbox", { name: "Allow user management requests" }).check()
    await click(tab, "Save")
    await announced(tab, "Gate saved.")
    await row.getByText("All businesses").waitFor()
    expect(dashboard.platform.state.keys[0]).toMatchObject({ scope: { type: "Unrestricted" }, userManagement: true })
    await choose(tab, "Edit Gate")
    await tab.getByRole("textbox", { name: "Name" }).fill("Partner")
    await click(tab, "Save")
    await announced(tab, "Partner saved.")
    expect(dashboard.platform.state.keys[0]).toMatchObject({
      name: "Partner",
      scope: { type: "Unrestricted" },
      userManagement: true,
    })
    await choose(tab, "Edit Partner")
    await tab.getByRole("radio", { name: "Restricted", exact: true }).check()
    await click(tab, "Save")
    await tab.getByText("Select at least one business.").waitFor()
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    await click(tab, "Save")
    await tab
      .getByRole("row", { name: /Partner/ })
      .getByText("Bakery", { exact: true })
      .waitFor()
  })

  it("shows every error of the form at its field, those of the platform too", async () => {
    const tab = await dashboard.signIn("#/keys")
    await click(tab, "Create API key")
    await tab.getByLabel("Allowed addresses (optional)").fill("203.0.113.7\n10.0.0.999\n2001:db8::/129")
    await click(tab, "Create key")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByText("Select at least one business.").waitFor()
    const addresses = tab.getByLabel("Allowed addresses (optional)")
    const problem = "“10.0.0.999”, “2001:db8::/129”: not an IP address or a CIDR range."
    await tab.getByText(problem).waitFor()
    const described = await addresses.getAttribute("aria-describedby")
    expect(await tab.locator(`#${described?.split(" ").at(-1)}`).textContent()).toBe(problem)
    await addresses.fill("203.0.113.7")
    await tab.getByText(problem).waitFor({ state: "detached" })
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    dashboard.platform.state.refuseKeys = [{ field: "allowedAddresses", message: "the address is not yours" }]
    await click(tab, "Create key")
    await tab.getByText("The address is not yours.").waitFor()
    await focusOn(tab, "Allowed addresses (optional)")
    expect(await tab.getByRole("alert").count()).toBe(0)
  })

  it("is limited to addresses, and its expiry is moved or stays", async () => {
    const tab = await dashboard.signIn("#/keys")
    await click(tab, "Create API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    await tab.getByLabel("Allowed addresses (optional)").fill("203.0.113.7\n2001:db8::/48\n")
    await tab.getByLabel("Expires").selectOption("On a date you choose")
    await tab.getByLabel("Last day").fill(new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10))
    await click(tab, "Create key")
    await click(tab, "I’ve saved it")
    const [key] = dashboard.platform.state.keys
    expect(key?.allowedAddresses).toEqual(["203.0.113.7", "2001:db8::/48"])
    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText("only from 2 addresses", { exact: true }).waitFor()
    await row.getByText(/^in \d days$/).waitFor()
    // a row is one line of text high
    await tab.setViewportSize({ width: 1_400, height: 800 })
    expect((await row.boundingBox())?.height).toBeLessThan(56)

    await choose(tab, "Edit Gate")
    await holds(tab.getByLabel("Allowed addresses (optional)"), "203.0.113.7\n2001:db8::/48")
    await tab.getByLabel("Allowed addresses (optional)").fill("203.0.113.7")
    await click(tab, "Save")
    await announced(tab, "Gate saved.")
    await row.getByText("203.0.113.7", { exact: true }).waitFor()
    expect(dashboard.platform.state.keys[0]?.expiresAt).toBe(key?.expiresAt)
    await choose(tab, "Edit Gate")
    await tab.getByLabel("Expires").selectOption("On a date you choose")
    await click(tab, "Save")
    await tab.getByText("Choose a future date.").waitFor()
    await tab.getByLabel("Expires").selectOption("Never")
    await click(tab, "Save")
    await row.getByText(/^in \d days$/).waitFor({ state: "detached" })
    expect(dashboard.platform.state.keys[0]?.expiresAt).toBeNull()
  })

  it("is renamed, and rotated: the new secret is shown once, and the previous one works until its end", async () => {
    const tab = await dashboard.signIn("#/keys")
    const before = await makeKey(tab, "Gate")
    await click(tab, "I’ve saved it")
    await choose(tab, "Edit Gate")
    await tab.getByRole("textbox", { name: "Name" }).fill("Website")
    await click(tab, "Save")
    await announced(tab, "Website saved.")
    await choose(tab, "Rotate Website")
    await holds(tab.getByLabel("Current secret expires"), "24")
    await click(tab, "Rotate key")
    await dialog(tab, /Secret for “Website”/).waitFor()
    const after = await tab.getByRole("textbox", { name: "Secret" }).inputValue()
    expect(after).toBe(dashboard.platform.state.secrets[1])
    expect(after).not.toBe(before)
    const until = dashboard.platform.state.keys[0]?.previousSecretUntil ?? 0
    expect(Math.round((until - Date.now()) / 3_600_000)).toBe(24)
    await click(tab, "I’ve saved it")
    const row = tab.getByRole("row", { name: /Website/ })
    await row.getByText("+ previous secret").waitFor()
    await row.getByText(after.slice(-4)).waitFor()
    await focusOn(tab, "Actions for Website")

    await choose(tab, "Rotate Website")
    await tab
      .getByText(/^The secret from the last rotation works until .+ If you rotate again, it stops at once\.$/)
      .waitFor()
    await tab.getByLabel("Current secret expires").selectOption("Immediately")
    await click(tab, "Rotate key")
    await click(tab, "I’ve saved it")
    await row.getByText("+ previous secret").waitFor({ state: "detached" })
    expect(dashboard.platform.state.keys[0]?.previousSecretUntil).toBeNull()
  })

  it("revokes a key only after it was confirmed", async () => {
    const tab = await dashboard.signIn("#/keys")
    await makeKey(tab, "Gate")
    await click(tab, "I’ve saved it")
    await choose(tab, "Revoke Gate")
    await dialog(tab, "Revoke “Gate”?").waitFor()
    await click(tab, "Cancel")
    expect(dashboard.platform.state.keys[0]?.revokedAt).toBeNull()
    await focusOn(tab, "Actions for Gate")
    await choose(tab, "Revoke Gate")
    await click(tab, "Revoke key")
    await announced(tab, "Gate revoked.")
    await tab.getByText("Revoked and expired (1)").waitFor()
    await tab.getByText("No API key works any more.").waitFor()
    expect(dashboard.platform.state.keys[0]?.revokedAt).not.toBeNull()
    await focusOn(tab, "API keys")
  })

  it("has a page with its usage by day, as a chart and as a table, and with its actions", async () => {
    const tab = await dashboard.signIn("#/keys")
    await makeKey(tab, "Gate")
    await click(tab, "I’ve saved it")
    // on a narrow page nothing lies over the link
    for (const width of [800, 360, 1200]) {
      await tab.setViewportSize({ width, height: 800 })
      await visit(tab, "API keys")
      await visit(tab, "Gate")
      await heading(tab, "Gate")
    }
    await tab.getByText("No sessions or calls were started with this key in the last 30 days.").waitFor()
    const today = Date.UTC(2026, 5, 30)
    dashboard.platform.state.usage.set(
      "key-1",
      Array.from({ length: 30 }, (_, index) => ({
        day: today - (29 - index) * 86_400_000,
        sessions: index === 12 ? 1_200 : 0,
        calls: index === 29 ? 1 : 0,
      })),
    )
    await tab.clock.fastForward(30_000)
    await tab.getByText("1,200 sessions, 1 call").waitFor()
    await tab
      .getByRole("img", { name: "Starts by day: 1,200 sessions, 1 call, most on Jun 13: 1,200 sessions." })
      .waitFor()
    await tabTo(tab, "Usage by day")
    await tab.keyboard.press("Enter")
    const rows = tab.getByRole("table", { name: "Usage by day" }).getByRole("row")
    expect((await rows.allInnerTexts()).map((text) => text.split(/\s*\t\s*/))).toEqual([
      ["Day", "Web sessions", "Calls"],
      ["Tue, Jun 30", "0", "1"],
      ["Sat, Jun 13", "1,200", "0"],
    ])
    await tab.evaluate(axe.source)
    for (const colorScheme of ["light", "dark"] as const) {
      await tab.emulateMedia({ colorScheme })
      expect(await tab.evaluate("axe.run(document).then(({ violations }) => violations)")).toEqual([])
    }
    await tab.setViewportSize({ width: 360, height: 780 })
    expect(await tab.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0)
    await choose(tab, "Revoke Gate")
    await click(tab, "Revoke key")
    await announced(tab, "Gate revoked.")
    await tab.getByRole("button", { name: "Actions for Gate" }).waitFor({ state: "detached" })
    await focusOn(tab, "Gate")
  })

  it("can be made and revoked by keyboard alone", async () => {
    const tab = await dashboard.openTab("#/keys")
    await heading(tab, "Sign in")
    const press = async (...keys: ReadonlyArray<string>) => {
      for (const key of keys) await tab.keyboard.press(key)
    }
    await focusOn(tab, "Email address")
    await tab.keyboard.type(EMAIL)
    await press("Tab")
    await tab.keyboard.type(PASSWORD)
    await press("Enter")
    await tab.getByText("No API keys yet.").waitFor()
    await tabTo(tab, "Create API key")
    await press("Enter")
    await dialog(tab, "Create API key").waitFor()
    await focusOn(tab, "Name")
    await tab.keyboard.type("Gate")
    await press("Tab", "Tab", "Space", "Enter")
    await dialog(tab, /Secret for “Gate”/).waitFor()
    await tabTo(tab, "Copy the secret")
    await press("Enter")
    await announced(tab, "Copied the secret.")
    await press("Tab", "Enter")
    await focusOn(tab, "Create API key")
    await tabTo(tab, "Actions for Gate")
    await press("Enter")
    await focusOn(tab, "Edit Gate")
    await press("Escape")
    await focusOn(tab, "Actions for Gate")
    await press("ArrowDown")
    await focusOn(tab, "Edit Gate")
    await press("Escape")
    await focusOn(tab, "Actions for Gate")
    await press("ArrowUp")
    await focusOn(tab, "Revoke Gate")
    await press("Escape")
    await focusOn(tab, "Actions for Gate")
    // the focus is in the menu in the same task of the page: a key that is pressed next finds it there
    expect(
      await tab.evaluate("document.activeElement.click(), document.activeElement.getAttribute('aria-label')"),
    ).toBe("Edit Gate")
    await press("End")
    await focusOn(tab, "Revoke Gate")
    await press("ArrowDown")
    await focusOn(tab, "Edit Gate")
    await press("ArrowUp")
    await focusOn(tab, "Revoke Gate")
    await press("Home")
    await focusOn(tab, "Edit Gate")
    await press("End", "Enter")
    await dialog(tab, "Revoke “Gate”?").waitFor()
    // Enter may still be down, and revokes nothing
    await focusOn(tab, "Cancel")
    await press("Enter")
    await focusOn(tab, "Actions for Gate")
    await choose(tab, "Revoke Gate")
    await press("Shift+Tab")
    await focusOn(tab, "Revoke key")
    await press("Enter")
    await announced(tab, "Gate revoked.")
  })
})
