/** A visit to the built console in a real browser, in front of a real gate, and what is looked for on the page. */
import { createHash } from "node:crypto"
import { dirname, join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { beforeAll, expect } from "vitest"
import { program, whenBuilt } from "../../harness/build.ts"
import { eventually } from "../../harness/process.ts"
import type { Options } from "../../http/console/support.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { type RunningGate, runGate, TOKEN } from "./support.ts"

/** The folder that the page is built into. */
const pageRoot = join(dirname(program), "web")
let browser: Browser

/** The page is up to date and a browser runs before a file's tests. */
export const prepareVisits = (): void => {
  beforeAll(async () => {
    ;[browser] = await Promise.all([sharedBrowser(), whenBuilt()])
  })
}

export interface Visit {
  readonly gate: RunningGate
  readonly context: BrowserContext
  readonly openTab: () => Promise<Page>
  readonly signIn: (token?: string) => Promise<Page>
}

/** A gate with so many callers, and a browser's visitor without history. */
export const visiting =
  (slots: number, callers: number, test: (visit: Visit) => Promise<void>, more: Options = {}) =>
  async (): Promise<void> => {
    /** what went wrong in any tab: errors of scripts, and what the content security policy forbade */
    const complaints: Array<string> = []
    const gate = await runGate({ slots, pageRoot, ...more })
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" })
    context.setDefaultTimeout(60_000)
    const openTab = async (): Promise<Page> => {
      const tab = await context.newPage()
      tab.on("pageerror", (error) => complaints.push(String(error)))
      tab.on("console", (message) => {
        // Chromium reports every refusal as an error; the tests cause those.
        if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
          complaints.push(message.text())
      })
      await tab.goto(`${gate.url}/console`)
      return tab
    }
    const signIn = async (token = TOKEN): Promise<Page> => {
      const tab = await openTab()
      await tab.getByLabel("Console token").fill(token)
      await button(tab, "Sign in").click()
      return tab
    }
    try {
      await gate.call(callers)
      await test({ gate, context, openTab, signIn })
      expect(complaints).toEqual([])
    } finally {
      await context.close()
      await gate.close()
    }
  }

export const heading = (tab: Page, name: string): Promise<void> =>
  tab.getByRole("heading", { level: 1, name, exact: true }).waitFor()
export const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })

/** The figures of the live tables by a short name. */
const FIGURES = { slots: "In call", waiting: "Waiting", refused: "Refused" } as const
type FigureName = keyof typeof FIGURES | `${keyof typeof FIGURES}-more`

const figure = (tab: Page, figureName: FigureName) => {
  const [of = "", more] = figureName.split("-")
  const name = Object.entries(FIGURES).find(([key]) => key === of)?.[1] ?? ""
  return tab
    .getByRole("region", { name, exact: true })
    .locator(more === undefined ? ".figure .value" : ".figure .small")
}
export const shows = (tab: Page, name: FigureName, text: string): Promise<void> =>
  eventually(`${name} shows ${text}`, async () => (await figure(tab, name).textContent()) === text)
/** The rows of a table that have cells: not its head. */
export const rows = (tab: Page, table: string) =>
  tab
    .getByRole("group", { name: table })
    .getByRole("row")
    .filter({ has: tab.getByRole("cell") })
export const said = (tab: Page, text: string | RegExp): Promise<void> =>
  tab.getByRole("status").getByText(text).waitFor()
export const hash = (ticket: string): string => createHash("sha1").update(ticket).digest("hex").slice(0, 10)

/** Presses a button of the page and confirms what it asks. */
export const confirm = async (tab: Page, name: string, question: string, yes: string): Promise<void> => {
  await button(tab, name).click()
  await tab.getByRole("dialog", { name: question }).getByRole("button", { name: yes, exact: true }).click()
}
