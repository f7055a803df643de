/** The built dashboard in a real browser, against an API with nothing behind it, and what its tests do with a tab. */
import { dirname, join } from "node:path"
import type { Browser, BrowserContext, Locator, Page } from "playwright-core"
import { afterEach, beforeAll, beforeEach, expect } from "vitest"
import type { Business } from "../../../src/platform/http/dashboard/shapes.ts"
import { program, whenBuilt } from "../../harness/build.ts"
import { eventually } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { type FakeDashboard, startFakeDashboard } from "./fake-dashboard.ts"

export const EMAIL = "ada@example.test"
export const BAKERY: Business = {
  id: "business-1",
  name: "Bakery",
  disabled: false,
  createdAt: 1_700_000_000_000,
  campaigns: [],
}
const DENTIST: Business = { ...BAKERY, id: "business-2", name: "Dentist" }

const page = join(dirname(program), "web/dashboard")

/** A platform and a browser's visitor for each test of a file; no test may cause an error or reach another host. */
export const useDashboard = () => {
  let browser: Browser
  let platform: FakeDashboard
  let context: BrowserContext
  /** errors of scripts, and what the content security policy forbade, in any tab */
  let complaints: Array<string> = []
  /** hosts that were asked for anything */
  let hosts = new Set<string>()

  beforeAll(async () => {
    ;[browser] = await Promise.all([sharedBrowser(), whenBuilt()])
  })

  beforeEach(async () => {
    platform = await startFakeDashboard({ page, businesses: [BAKERY, DENTIST] })
    context = await browser.newContext({ viewport: { width: 1200, height: 800 }, reducedMotion: "reduce" })
    await context.grantPermissions(["clipboard-read", "clipboard-write"])
    context.setDefaultTimeout(60_000)
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

  /** A tab of a user who is already signed in. */
  const signIn = async (path = ""): Promise<Page> => {
    const token = platform.state.newSession()
    await context.addCookies([{ name: "voicegate_session", value: token, url: platform.url, httpOnly: true }])
    const tab = await openTab(path)
    await tab.getByRole("navigation", { name: "Platform" }).waitFor()
    return tab
  }

  return {
    openTab,
    signIn,
    get platform() {
      return platform
    },
    get hosts() {
      return hosts
    },
  }
}

export const heading = (tab: Page, name: string): Promise<void> =>
  tab.getByRole("heading", { level: 1, name, exact: true }).waitFor()
export const dialog = (tab: Page, name: string | RegExp) => tab.getByRole("dialog", { name })
export const click = (tab: Page, name: string): Promise<void> => tab.getByRole("button", { name, exact: true }).click()
/** Chooses in the menu of what is named, such as `Edit Gate`. */
export const choose = async (tab: Page, name: string): Promise<void> => {
  await click(tab, `Actions for ${name.replace(/^\w+ /, "")}`)
  await tab.getByRole("menuitem", { name, exact: true }).click()
}
/** Follows a link, which may be one of the navigation behind its button. */
export const visit = async (tab: Page, name: string): Promise<void> => {
  const menu = tab.getByRole("button", { name: "Menu", exact: true, expanded: false })
  const isPage = (await tab.locator("#pages a").allTextContents()).includes(name)
  if (isPage && (await menu.isVisible())) await menu.click()
  await tab.getByRole("link", { name, exact: true }).click()
}
export const announced = (tab: Page, text: string | RegExp): Promise<void> =>
  tab.locator("#said").getByText(text).waitFor({ state: "attached" })

/** Whatever the page wanted to do within the next seconds, it does now. */
export const later = (tab: Page): Promise<void> => tab.clock.fastForward(5_000)

export const typePassword = async (tab: Page, password: string): Promise<void> => {
  await tab.getByLabel("Password").fill(password)
  await tab.getByRole("button", { name: "Sign in", exact: true }).click()
}

/** Waits until the page is named so: a page names itself after it has drawn. */
export const titled = (tab: Page, title: string): Promise<void> =>
  eventually(`the title “${title}”`, async () => (await tab.title()) === title)

/** Waits until the clipboard holds this text. */
export const copied = (tab: Page, text: string): Promise<void> =>
  eventually(`“${text}” is copied`, async () => (await tab.evaluate("navigator.clipboard.readText()")) === text)

/** Waits until a field holds this text. */
export const holds = (field: Locator, text: string): Promise<void> =>
  eventually(`the field holds “${text}”`, async () => (await field.inputValue()) === text)
