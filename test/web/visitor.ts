/** A visitor at a widget: tabs that record errors, and helpers to find and use the widget's elements. */
import type { Browser, BrowserContext, Page } from "playwright-core"
import { eventually } from "../harness/process.ts"

export interface Visitor {
  readonly context: BrowserContext
  /** errors of scripts, and what a content security policy forbade, in any tab */
  readonly complaints: Array<string>
  readonly open: (url: string) => Promise<Page>
}

/**
 * Opens a context of the browser. The visitor prefers reduced motion, unless a test is about motion: a call's page that is drawn sixty
 * times a second takes half a core.
 */
export const visit = async (browser: Browser, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visitor> => {
  const context = await browser.newContext({
    viewport: { width: 1000, height: 800 },
    reducedMotion: "reduce",
    ...options,
  })
  context.setDefaultTimeout(60_000)
  const complaints: Array<string> = []
  return {
    context,
    complaints,
    open: async (url) => {
      const tab = await context.newPage()
      tab.on("pageerror", (error) => complaints.push(String(error)))
      tab.on("console", (message) => {
        // Chromium reports every refusal and lost connection as an error; the tests cause those.
        const expected = /Failed to load resource|WebSocket connection/.test(message.text())
        if (message.type() === "error" && !expected) complaints.push(message.text())
      })
      await tab.goto(url)
      return tab
    },
  }
}

/** The texts of the button with which a visit begins: while others wait, it says that the visitor joins them. */
const BEGIN: Readonly<Record<string, RegExp>> = { "Start a call": /^(Start a call|Join the queue)$/ }

export const click = (tab: Page, name: string): Promise<void> =>
  tab.getByRole("button", { name: BEGIN[name] ?? name, exact: true }).click()

/** Waits until a screen of the widget with this title is shown. */
export const screen = (tab: Page, name: string): Promise<void> =>
  tab.locator("voice-agent").getByRole("heading", { level: 2, name, exact: true }).waitFor()

export const see = (tab: Page, text: string | RegExp): Promise<void> =>
  tab.locator("voice-agent .panel").getByText(text).waitFor()

export const place = (tab: Page, number: number): Promise<void> =>
  tab.locator(".place", { hasText: new RegExp(`^${number}$`) }).waitFor()

export const announced = (tab: Page, text: string | RegExp): Promise<void> =>
  tab.getByRole("status").getByText(text).waitFor()

/** Waits until the page is named so: the widget names it after it has drawn. */
export const titled = (tab: Page, title: string): Promise<void> =>
  eventually(`the title “${title}”`, async () => (await tab.title()) === title)

/** What a meter of the call shows, 0 to 1. */
export const level = async (tab: Page, name: string): Promise<number> =>
  Number(await tab.getByRole("meter", { name }).getAttribute("aria-valuenow"))
