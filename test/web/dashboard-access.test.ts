/** The built dashboard in a real browser, against an API with nothing behind it: sign-in, keys and the account. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  announced,
  click,
  copied,
  dialog,
  EMAIL,
  heading,
  holds,
  titled,
  typePassword,
  useDashboard,
  visit,
} from "./dashboard-rig.ts"
import { PASSWORD } from "./fake-dashboard.ts"
import { focusOn, tabTo } from "./focus.ts"

const dashboard = useDashboard()

/** Makes a key restricted to the bakery, and gives its secret with the dialog still open. */
const makeKey = async (tab: Page, name: string): Promise<string> => {
  await click(tab, "Add API key")
  await tab.getByRole("textbox", { name: "Name" }).fill(name)
  await tab.getByRole("checkbox", { name: "Bakery" }).check()
  await click(tab, "Make the key")
  return tab.getByRole("textbox", { name: "Secret" }).inputValue()
}

describe("signing in", () => {
  it("refuses a wrong password, says so, and then takes the right one", async () => {
    const tab = await dashboard.openTab()
    await heading(tab, "Sign in")
    await tab.getByLabel("E-mail address").fill(EMAIL)
    await typePassword(tab, "wrong")
    await tab.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor()
    await typePassword(tab, PASSWORD)
    await heading(tab, "API Keys")
    await titled(tab, "API Keys · voicegate platform")
    await tab.reload()
    await heading(tab, "API Keys")
    expect(await tab.evaluate("document.cookie")).toBe("")
  })

  it("asks for missing input before it asks the platform", async () => {
    const tab = await dashboard.openTab()
    await click(tab, "Sign in")
    await tab.getByText("Enter your e-mail address.").waitFor()
    await tab.getByLabel("E-mail address").and(tab.locator("[aria-invalid=true]")).waitFor()
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
    await heading(tab, "Audit")
  })
})

describe("API keys", () => {
  it("shows a new key's secret once, copies it, and lists its display form only", async () => {
    const tab = await dashboard.signIn()
    await tab.getByText("No API keys yet.").waitFor()
    const secret = await makeKey(tab, "Gate")
    expect(secret).toBe(dashboard.platform.state.secrets[0])
    await tab.getByText("You will not see this secret again.").waitFor()
    await tab.keyboard.press("Escape")
    await tab.keyboard.press("Escape")
    await dialog(tab, /secret of “Gate”/).waitFor()
    await click(tab, "Copy the secret")
    await announced(tab, "Copied the secret.")
    await copied(tab, secret)
    await click(tab, "Done")
    await dialog(tab, /secret of “Gate”/).waitFor({ state: "detached" })

    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText(`vgp_…${secret.slice(-4)}`).waitFor()
    await row.getByText("Restricted to Bakery").waitFor()
    expect(await tab.content()).not.toContain(secret)
    await tab.reload()
    await row.waitFor()
    expect(await tab.content()).not.toContain(secret)
    expect(JSON.stringify(await tab.evaluate("[localStorage, sessionStorage, history.state]"))).not.toContain(secret)
    expect(dashboard.platform.state.keys[0]).toMatchObject({
      scope: { type: "Restricted", businessIds: ["business-1"] },
      permissions: ["start"],
      userManagement: false,
      expiresAt: null,
    })
  })

  it("refuses a restricted key without a business and a key without a name, in the form", async () => {
    const tab = await dashboard.signIn()
    await click(tab, "Add API key")
    await click(tab, "Make the key")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByText("A restricted key needs at least one business.").waitFor()
    await focusOn(tab, "Name")
    await tab.getByRole("textbox", { name: "Name" }).fill("Reporting")
    await click(tab, "Make the key")
    await tab.getByText("Enter a name.").waitFor({ state: "detached" })
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await tab.getByRole("radio", { name: "Unrestricted" }).check()
    await tab.getByRole("checkbox", { name: "Allow user management requests" }).check()
    await tab.getByLabel("Expires").selectOption("In 30 days")
    await click(tab, "Make the key")
    await dialog(tab, /secret of “Reporting”/).waitFor()
    const [key] = dashboard.platform.state.keys
    expect(key).toMatchObject({ scope: { type: "Unrestricted" }, userManagement: true })
    expect(Math.round(((key?.expiresAt ?? 0) - Date.now()) / 86_400_000)).toBe(30)
  })

  it("offers to start and nothing else at first, refuses a key without a permission, and changes them later", async () => {
    const tab = await dashboard.signIn()
    await click(tab, "Add API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    const box = (name: string) => tab.getByRole("checkbox", { name, exact: true })
    expect([await box("Start").isChecked(), await box("Read").isChecked(), await box("Manage").isChecked()]).toEqual([
      true,
      false,
      false,
    ])
    await box("Start").uncheck()
    await click(tab, "Make the key")
    await tab.getByText("Choose at least one permission.").waitFor()
    await focusOn(tab, "Start")
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await box("Read").check()
    await box("Start").check()
    await click(tab, "Make the key")
    await click(tab, "I have kept it")
    await tab.getByRole("row", { name: /Gate/ }).getByText("Start, Read").waitFor()
    await click(tab, "Edit permissions of Gate")
    await dialog(tab, "Permissions of “Gate”").waitFor()
    await box("Read").uncheck()
    await click(tab, "Save")
    await announced(tab, "The permissions of Gate are changed.")
    await tab.getByRole("row", { name: /Gate/ }).getByText("Start, Read").waitFor({ state: "detached" })
    expect(dashboard.platform.state.keys[0]?.permissions).toEqual(["start"])
    await focusOn(tab, "Edit permissions of Gate")
  })

  it("revokes a key only after it was confirmed", async () => {
    const tab = await dashboard.signIn()
    await makeKey(tab, "Gate")
    await click(tab, "I have kept it")
    await click(tab, "Revoke Gate")
    await dialog(tab, "Revoke “Gate”?").waitFor()
    await click(tab, "Cancel")
    expect(dashboard.platform.state.keys[0]?.revokedAt).toBeNull()
    await focusOn(tab, "Revoke Gate")
    await click(tab, "Revoke Gate")
    await click(tab, "Revoke key")
    await announced(tab, "The key Gate is revoked.")
    await tab.getByText("Revoked and expired (1)").waitFor()
    expect(dashboard.platform.state.keys[0]?.revokedAt).not.toBeNull()
    await focusOn(tab, "API Keys")
  })

  it("can be made and revoked by keyboard alone", async () => {
    const tab = await dashboard.openTab()
    await heading(tab, "Sign in")
    const press = async (...keys: ReadonlyArray<string>) => {
      for (const key of keys) await tab.keyboard.press(key)
    }
    await focusOn(tab, "E-mail address")
    await tab.keyboard.type(EMAIL)
    await press("Tab")
    await tab.keyboard.type(PASSWORD)
    await press("Enter")
    await tab.getByText("No API keys yet.").waitFor()
    await tabTo(tab, "Add API key")
    await press("Enter")
    await dialog(tab, "Add API key").waitFor()
    await focusOn(tab, "Name")
    await tab.keyboard.type("Gate")
    await press("Tab", "Tab", "Space", "Enter")
    await dialog(tab, /secret of “Gate”/).waitFor()
    await tabTo(tab, "Copy the secret")
    await press("Enter")
    await announced(tab, "Copied the secret.")
    await press("Tab", "Enter")
    await focusOn(tab, "Add API key")
    await tabTo(tab, "Revoke Gate")
    await press("Enter")
    await dialog(tab, "Revoke “Gate”?").waitFor()
    await tabTo(tab, "Revoke key")
    await press("Enter")
    await announced(tab, "The key Gate is revoked.")
  })
})

describe("the account", () => {
  it("changes the password by keyboard alone, after saying what is wrong with it", async () => {
    const tab = await dashboard.signIn("#/account")
    await heading(tab, "Account")
    const next = "another long password"
    const fill = async (label: string, text: string) => {
      await tabTo(tab, label)
      await tab.keyboard.press("ControlOrMeta+A")
      await tab.keyboard.type(text)
    }
    await tabTo(tab, "Change the password")
    await tab.keyboard.press("Enter")
    await tab.getByText("Enter your current password.").waitFor()
    await tab.getByText("Enter at least 12 characters.").waitFor()
    await fill("Current password", "wrong")
    await fill("New password", next)
    await fill("New password again", "something else")
    await tab.keyboard.press("Enter")
    await tab.getByText("This is not the same as the new password.").waitFor()
    await fill("New password again", next)
    await tab.keyboard.press("Enter")
    await tab.getByRole("alert").getByText("The current password is wrong.").waitFor()
    expect(dashboard.platform.state.password).toBe(PASSWORD)
    // the keyboard is still in the last field
    await tab.keyboard.press("Shift+Tab")
    await tab.keyboard.press("Shift+Tab")
    await fill("Current password", PASSWORD)
    await tab.keyboard.press("Enter")
    await announced(tab, "The password is changed. All other sign-ins have ended.")
    expect(dashboard.platform.state.password).toBe(next)
    await holds(tab.getByLabel("Current password"), "")
    await tab.getByText("Safari on iPhone").waitFor({ state: "detached" })
  })

  it("shows where it is signed in, ends one sign-in and all others, and never the one of this browser", async () => {
    const [current, other] = dashboard.platform.state.signIns
    if (current === undefined || other === undefined) throw new Error("no sign-ins")
    dashboard.platform.state.signIns.push({ ...other, id: "sign-in-3", address: "198.51.100.9", userAgent: "curl/8" })
    dashboard.platform.state.signIns.push({ ...other, id: "sign-in-4", address: "198.51.100.10" })
    const tab = await dashboard.signIn("#/account")
    const thisBrowser = tab.getByRole("row", { name: /This browser/ })
    await thisBrowser.getByText("Chrome on Linux").waitFor()
    await thisBrowser.getByText("192.0.2.7").waitFor()
    expect(await thisBrowser.getByRole("button").count()).toBe(0)
    await click(tab, "End the sign-in of Safari on iPhone at 2001:db8:1:2:3:4:5:6")
    await dialog(tab, "End this sign-in?").waitFor()
    await click(tab, "End sign-in")
    await announced(tab, "The sign-in has ended.")
    expect(dashboard.platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1", "sign-in-3", "sign-in-4"])
    await tab.getByRole("row", { name: /A program/ }).waitFor()
    await click(tab, "End all other sign-ins")
    await click(tab, "End them")
    await announced(tab, "2 sign-ins have ended.")
    expect(dashboard.platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1"])
    await tab.getByRole("button", { name: "End all other sign-ins" }).waitFor({ state: "detached" })
  })
})

describe("a session that ends while the page is open", () => {
  it("is renewed over the form that was being filled in, and the action is then carried out", async () => {
    const tab = await dashboard.signIn()
    await click(tab, "Add API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    dashboard.platform.state.sessions.clear()
    await click(tab, "Make the key")
    const again = dialog(tab, "Your session has ended")
    await again.waitFor()
    expect(dashboard.platform.state.keys).toHaveLength(0)
    await holds(again.getByLabel("E-mail address"), EMAIL)
    await typePassword(tab, PASSWORD)
    await dialog(tab, /secret of “Gate”/).waitFor()
    expect(dashboard.platform.state.keys).toHaveLength(1)
  })

  it("can be replaced by another account, which starts with a new page", async () => {
    const tab = await dashboard.signIn("#/audit")
    await tab.getByText("Nothing was done yet.").waitFor()
    dashboard.platform.state.sessions.clear()
    await visit(tab, "Live")
    await dialog(tab, "Your session has ended").waitFor()
    await click(tab, "Use another account")
    await heading(tab, "Sign in")
    await tab.getByRole("dialog").waitFor({ state: "detached" })
  })
})
