/** The built dashboard in a real browser, against an API with nothing behind it: what a user does with the account. */

import { describe, expect, it } from "vitest"
import { tabTo } from "../focus.ts"
import { PASSWORD } from "./fake-dashboard-state.ts"
import { announced, click, dialog, heading, holds, useDashboard } from "./rig.ts"

const dashboard = useDashboard()

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
    await tabTo(tab, "Change password")
    await tab.keyboard.press("Enter")
    await tab.getByText("Enter your current password.").waitFor()
    await tab.getByText("Enter at least 12 characters.").waitFor()
    await fill("Current password", "wrong")
    await fill("New password", next)
    await fill("Confirm new password", "something else")
    await tab.keyboard.press("Enter")
    await tab.getByText("Passwords don’t match.").waitFor()
    await fill("Confirm new password", next)
    await tab.keyboard.press("Enter")
    await tab.getByRole("alert").getByText("The current password is incorrect.").waitFor()
    expect(dashboard.platform.state.password).toBe(PASSWORD)
    // the keyboard is still in the last field
    await tab.keyboard.press("Shift+Tab")
    await tab.keyboard.press("Shift+Tab")
    await fill("Current password", PASSWORD)
    await tab.keyboard.press("Enter")
    await announced(tab, "Password changed. All other sign-ins have ended.")
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
    await announced(tab, "Sign-in ended.")
    expect(dashboard.platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1", "sign-in-3", "sign-in-4"])
    await tab.getByRole("row", { name: /Unknown browser/ }).waitFor()
    await click(tab, "End all other sign-ins")
    await click(tab, "End all")
    await announced(tab, "2 sign-ins ended.")
    expect(dashboard.platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1"])
    await tab.getByRole("button", { name: "End all other sign-ins" }).waitFor({ state: "detached" })
  })
})
