/** The built dashboard in a real browser, against an API with nothing behind it. */
import { dirname, join } from "node:path"
import axe from "axe-core"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { program, whenBuilt } from "../../scripts/harness/build.ts"
import type { Business, Transcript } from "../../src/platform/http/dashboard/shapes.ts"
import { launchBrowser } from "../support/browser.ts"
import { type FakeDashboard, PASSWORD, startFakeDashboard } from "./fake-dashboard.ts"
import { focusOn, tabTo } from "./focus.ts"

const EMAIL = "ada@example.test"
const BAKERY: Business = {
  id: "business-1",
  name: "Bakery",
  disabled: false,
  createdAt: 1_700_000_000_000,
  campaigns: [],
}
const DENTIST: Business = { ...BAKERY, id: "business-2", name: "Dentist" }

const page = join(dirname(program), "web/dashboard")
let browser: Browser
let platform: FakeDashboard
let context: BrowserContext
/** what went wrong in any tab: errors of scripts, and what the content security policy forbade */
let complaints: Array<string>
/** hosts that the page asked for anything */
let hosts: Set<string>

beforeAll(async () => {
  ;[browser] = await Promise.all([launchBrowser(), whenBuilt()])
})

afterAll(async () => {
  await browser?.close()
})

beforeEach(async () => {
  platform = await startFakeDashboard({ page, businesses: [BAKERY, DENTIST] })
  context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
  await context.grantPermissions(["clipboard-read", "clipboard-write"])
  context.setDefaultTimeout(10_000)
  complaints = []
  hosts = new Set()
})

afterEach(async () => {
  await context.close()
  const { host } = new URL(platform.url)
  await platform.stop()
  expect(complaints).toEqual([])
  expect([...hosts]).toEqual([host])
})

const openTab = async (path = ""): Promise<Page> => {
  const tab = await context.newPage()
  await tab.clock.install()
  tab.on("request", (request) => hosts.add(new URL(request.url()).host))
  tab.on("pageerror", (error) => complaints.push(String(error)))
  tab.on("console", (message) => {
    // Chromium reports every refusal and lost connection as an error; the tests cause those.
    if (message.type() === "error" && !message.text().includes("Failed to load resource"))
      complaints.push(message.text())
  })
  await tab.goto(platform.url + path)
  return tab
}

const heading = (tab: Page, name: string): Promise<void> =>
  tab.getByRole("heading", { level: 1, name, exact: true }).waitFor()
const dialog = (tab: Page, name: string | RegExp) => tab.getByRole("dialog", { name })
const click = (tab: Page, name: string): Promise<void> => tab.getByRole("button", { name, exact: true }).click()
const visit = (tab: Page, name: string): Promise<void> => tab.getByRole("link", { name, exact: true }).click()
const announced = (tab: Page, text: string | RegExp): Promise<void> =>
  tab.locator("#said").getByText(text).waitFor({ state: "attached" })

/** Whatever the page wanted to do within the next seconds, it does now. */
const later = (tab: Page): Promise<void> => tab.clock.fastForward(5_000)

const typePassword = async (tab: Page, password: string): Promise<void> => {
  await tab.getByLabel("Password").fill(password)
  await tab.getByRole("button", { name: "Sign in", exact: true }).click()
}

/** A tab of a user who is already signed in. */
const signIn = async (path = ""): Promise<Page> => {
  const token = platform.state.newSession()
  await context.addCookies([{ name: "voicegate_session", value: token, url: platform.url, httpOnly: true }])
  const tab = await openTab(path)
  await tab.getByRole("navigation", { name: "Platform" }).waitFor()
  return tab
}

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
    const tab = await openTab()
    await heading(tab, "Sign in")
    await tab.getByLabel("E-mail address").fill(EMAIL)
    await typePassword(tab, "wrong")
    await tab.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor()
    await typePassword(tab, PASSWORD)
    await heading(tab, "API Keys")
    expect(await tab.title()).toBe("API Keys · voicegate platform")
    await tab.reload()
    await heading(tab, "API Keys")
    expect(await tab.evaluate("document.cookie")).toBe("")
  })

  it("asks for missing input before it asks the platform", async () => {
    const tab = await openTab()
    await click(tab, "Sign in")
    await tab.getByText("Enter your e-mail address.").waitFor()
    expect(await tab.getByLabel("E-mail address").getAttribute("aria-invalid")).toBe("true")
  })

  it("ends the session on the platform when somebody signs out", async () => {
    const tab = await signIn()
    expect(platform.state.sessions.size).toBe(1)
    await click(tab, "Sign out")
    await heading(tab, "Sign in")
    expect(platform.state.sessions.size).toBe(0)
    await tab.reload()
    await heading(tab, "Sign in")
  })

  it("returns to the page that the URL names", async () => {
    const tab = await signIn("#/audit")
    await heading(tab, "Audit")
  })
})

describe("API keys", () => {
  it("shows a new key's secret once, copies it, and lists its display form only", async () => {
    const tab = await signIn()
    await tab.getByText("No API keys yet.").waitFor()
    const secret = await makeKey(tab, "Gate")
    expect(secret).toBe(platform.state.secrets[0])
    await tab.getByText("You will not see this secret again.").waitFor()
    await tab.keyboard.press("Escape")
    await tab.keyboard.press("Escape")
    await dialog(tab, /secret of “Gate”/).waitFor()
    await click(tab, "Copy the secret")
    await announced(tab, "Copied the secret.")
    expect(await tab.evaluate("navigator.clipboard.readText()")).toBe(secret)
    await click(tab, "Done")

    const row = tab.getByRole("row", { name: /Gate/ })
    await row.getByText(`vgp_…${secret.slice(-4)}`).waitFor()
    await row.getByText("Restricted to Bakery").waitFor()
    expect(await tab.content()).not.toContain(secret)
    await tab.reload()
    await row.waitFor()
    expect(await tab.content()).not.toContain(secret)
    expect(JSON.stringify(await tab.evaluate("[localStorage, sessionStorage, history.state]"))).not.toContain(secret)
    expect(platform.state.keys[0]).toMatchObject({
      scope: { type: "Restricted", businessIds: ["business-1"] },
      permissions: ["start"],
      userManagement: false,
      expiresAt: null,
    })
  })

  it("refuses a restricted key without a business and a key without a name, in the form", async () => {
    const tab = await signIn()
    await click(tab, "Add API key")
    await click(tab, "Make the key")
    await tab.getByText("Enter a name.").waitFor()
    await tab.getByText("A restricted key needs at least one business.").waitFor()
    await focusOn(tab, "Name")
    await tab.getByRole("textbox", { name: "Name" }).fill("Reporting")
    await click(tab, "Make the key")
    await tab.getByText("Enter a name.").waitFor({ state: "detached" })
    expect(platform.state.keys).toHaveLength(0)
    await tab.getByRole("radio", { name: "Unrestricted" }).check()
    await tab.getByRole("checkbox", { name: "Allow user management requests" }).check()
    await tab.getByLabel("Expires").selectOption("In 30 days")
    await click(tab, "Make the key")
    await dialog(tab, /secret of “Reporting”/).waitFor()
    const [key] = platform.state.keys
    expect(key).toMatchObject({ scope: { type: "Unrestricted" }, userManagement: true })
    expect(Math.round(((key?.expiresAt ?? 0) - Date.now()) / 86_400_000)).toBe(30)
  })

  it("offers to start and nothing else at first, refuses a key without a permission, and changes them later", async () => {
    const tab = await signIn()
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
    expect(platform.state.keys).toHaveLength(0)
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
    expect(platform.state.keys[0]?.permissions).toEqual(["start"])
    await focusOn(tab, "Edit permissions of Gate")
  })

  it("revokes a key only after it was confirmed", async () => {
    const tab = await signIn()
    await makeKey(tab, "Gate")
    await click(tab, "I have kept it")
    await click(tab, "Revoke Gate")
    await dialog(tab, "Revoke “Gate”?").waitFor()
    await click(tab, "Cancel")
    expect(platform.state.keys[0]?.revokedAt).toBeNull()
    await focusOn(tab, "Revoke Gate")
    await click(tab, "Revoke Gate")
    await click(tab, "Revoke key")
    await announced(tab, "The key Gate is revoked.")
    await tab.getByText("Revoked and expired (1)").waitFor()
    expect(platform.state.keys[0]?.revokedAt).not.toBeNull()
    await focusOn(tab, "API Keys")
  })

  it("can be made and revoked by keyboard alone", async () => {
    const tab = await openTab()
    await heading(tab, "Sign in")
    const press = async (...keys: ReadonlyArray<string>) => {
      for (const key of keys) await tab.keyboard.press(key)
    }
    await tab.keyboard.type(EMAIL)
    await press("Tab")
    await tab.keyboard.type(PASSWORD)
    await press("Enter")
    await tab.getByText("No API keys yet.").waitFor()
    await tabTo(tab, "Add API key")
    await press("Enter")
    await dialog(tab, "Add API key").waitFor()
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
    await tabTo(tab, "Revoke key")
    await press("Enter")
    await announced(tab, "The key Gate is revoked.")
  })
})

describe("the account", () => {
  it("changes the password by keyboard alone, after saying what is wrong with it", async () => {
    const tab = await signIn("#/account")
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
    expect(platform.state.password).toBe(PASSWORD)
    // the keyboard is still in the last field
    await tab.keyboard.press("Shift+Tab")
    await tab.keyboard.press("Shift+Tab")
    await fill("Current password", PASSWORD)
    await tab.keyboard.press("Enter")
    await announced(tab, "The password is changed. All other sign-ins have ended.")
    expect(platform.state.password).toBe(next)
    expect(await tab.getByLabel("Current password").inputValue()).toBe("")
    await tab.getByText("Safari on iPhone").waitFor({ state: "detached" })
  })

  it("shows where it is signed in, ends one sign-in and all others, and never the one of this browser", async () => {
    const [current, other] = platform.state.signIns
    if (current === undefined || other === undefined) throw new Error("no sign-ins")
    platform.state.signIns.push({ ...other, id: "sign-in-3", address: "198.51.100.9", userAgent: "curl/8" })
    platform.state.signIns.push({ ...other, id: "sign-in-4", address: "198.51.100.10" })
    const tab = await signIn("#/account")
    const mine = tab.getByRole("row", { name: /This browser/ })
    await mine.getByText("Chrome on Linux").waitFor()
    await mine.getByText("192.0.2.7").waitFor()
    expect(await mine.getByRole("button").count()).toBe(0)
    await click(tab, "End the sign-in of Safari on iPhone at 2001:db8:1:2:3:4:5:6")
    await dialog(tab, "End this sign-in?").waitFor()
    await click(tab, "End sign-in")
    await announced(tab, "The sign-in has ended.")
    expect(platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1", "sign-in-3", "sign-in-4"])
    await tab.getByRole("row", { name: /A program/ }).waitFor()
    await click(tab, "End all other sign-ins")
    await click(tab, "End them")
    await announced(tab, "2 sign-ins have ended.")
    expect(platform.state.signIns.map(({ id }) => id)).toEqual(["sign-in-1"])
    await tab.getByRole("button", { name: "End all other sign-ins" }).waitFor({ state: "detached" })
  })
})

describe("a session that ends while the page is open", () => {
  it("is renewed over the form that was being filled in, and the action is then carried out", async () => {
    const tab = await signIn()
    await click(tab, "Add API key")
    await tab.getByRole("textbox", { name: "Name" }).fill("Gate")
    await tab.getByRole("checkbox", { name: "Bakery" }).check()
    platform.state.sessions.clear()
    await click(tab, "Make the key")
    const again = dialog(tab, "Your session has ended")
    await again.waitFor()
    expect(platform.state.keys).toHaveLength(0)
    expect(await again.getByLabel("E-mail address").inputValue()).toBe(EMAIL)
    await typePassword(tab, PASSWORD)
    await dialog(tab, /secret of “Gate”/).waitFor()
    expect(platform.state.keys).toHaveLength(1)
  })

  it("can be replaced by another account, which starts with a new page", async () => {
    const tab = await signIn("#/audit")
    await tab.getByText("Nothing was done yet.").waitFor()
    platform.state.sessions.clear()
    await visit(tab, "Live")
    await dialog(tab, "Your session has ended").waitFor()
    await click(tab, "Use another account")
    await heading(tab, "Sign in")
    expect(await tab.getByRole("dialog").count()).toBe(0)
  })
})

describe("businesses and web campaigns", () => {
  it("are added, copied, edited without showing what is secret, and deleted", async () => {
    const tab = await signIn("#/businesses")
    await click(tab, "Copy the id of Bakery")
    await announced(tab, "Copied the id of Bakery.")
    expect(await tab.evaluate("navigator.clipboard.readText()")).toBe("business-1")

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
    const id = platform.state.businesses[0]?.campaigns[0]?.id ?? ""
    expect(platform.state.campaignInputs.get(id)?.webhook).toMatchObject({
      url: "https://gate.example/hook",
      headers: [{ name: "X-Api-Token", value: "hook-token" }],
      signing: { type: "set", secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) },
    })

    await click(tab, "Edit Widget")
    expect(await tab.getByLabel("Header 1, value").inputValue()).toBe("")
    await tab.getByRole("textbox", { name: "Name", exact: true }).fill("Website")
    await click(tab, "Save")
    await announced(tab, "Website is saved.")
    expect(platform.state.campaignInputs.get(id)).toEqual({
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
    expect(platform.state.businesses.map(({ name }) => name)).toEqual(["Bakery"])
  })

  it("show markup as text", async () => {
    const tab = await signIn("#/businesses")
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
    platform.state.conversations.push(...Array.from({ length: 25 }, (_, number) => conversation(number)))
    const tab = await signIn("#/conversations")
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
    expect(await tab.getByLabel("Business").inputValue()).toBe("business-2")
  })

  it("show a session as soon as it exists, without a reload", async () => {
    const tab = await signIn("#/live")
    await tab.getByText("Nothing is running.").waitFor()
    platform.state.live.push({
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
    platform.state.deliveries.push({
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
    const tab = await signIn("#/webhooks")
    await tab.getByText("HTTP 503").waitFor()
    await click(tab, "Send msg_1 again")
    await announced(tab, "It is sent again.")
    await tab.getByText("HTTP 200").waitFor()
  })
})

describe("the page itself", () => {
  it("says that the platform does not answer, keeps what it has, and goes on by itself", async () => {
    const tab = await signIn("#/live")
    await tab.getByText("Nothing is running.").waitFor()
    platform.allowRequests(false)
    await later(tab)
    await tab.getByRole("alert").getByText("Not up to date.").waitFor()
    await tab.getByText("Nothing is running.").waitFor()
    await visit(tab, "Audit")
    await tab.getByText("Could not load the audit trail.").waitFor()
    platform.allowRequests(true)
    await later(tab)
    await tab.getByText("Nothing was done yet.").waitFor()
  })

  it("shows what it is loading", async () => {
    const tab = await signIn()
    platform.state.delayMillis = 800
    await visit(tab, "Audit")
    await tab.getByText("Loading the audit trail …").waitFor()
    await tab.getByText("Nothing was done yet.").waitFor()
  })

  it("fits a phone of 360 pixels on every page and in the longest form", async () => {
    platform.state.businesses[0] = {
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
    const tab = await signIn()
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
    const tab = await signIn()
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
      expect([colorScheme, "new key", await found()]).toEqual([colorScheme, "new key", []])
      await tab.keyboard.press("Escape")
    }
  })

  it("is served with a policy that allows no other origin and no frame", async () => {
    const response = await fetch(platform.url)
    const policy = response.headers.get("content-security-policy")
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
    expect(response.headers.get("x-content-type-options")).toBe("nosniff")
    const html = await response.text()
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style| on\w+=|style="/)
    hosts.add(new URL(platform.url).host)
  })
})
