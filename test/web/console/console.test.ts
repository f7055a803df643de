/** The built console in a real browser, in front of a real gate. */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { noFacts } from "../../../src/IpIntel.ts"
import { unavailable } from "../../../src/platform-api/errors.ts"
import type { Options } from "../../http/console/support.ts"
import { launchBrowser } from "../../support/browser.ts"
import { eventually } from "../../support/process.ts"
import { buildPage, type RunningGate, runGate, TOKEN } from "./support.ts"

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js")

let page: Awaited<ReturnType<typeof buildPage>>
let browser: Browser

beforeAll(async () => {
  const [started, built] = await Promise.all([launchBrowser(), buildPage()])
  browser = started
  page = built
})

afterAll(async () => {
  await browser?.close()
  await page?.remove()
})

interface Visit {
  readonly gate: RunningGate
  readonly context: BrowserContext
  readonly openTab: () => Promise<Page>
  readonly signIn: (token?: string) => Promise<Page>
}

/** A gate with so many callers, and a browser's visitor without history. */
const visiting =
  (slots: number, callers: number, test: (visit: Visit) => Promise<void>, more: Options = {}) =>
  async (): Promise<void> => {
    /** what went wrong in any tab: errors of scripts, and what the content security policy forbade */
    const complaints: Array<string> = []
    const gate = await runGate({ slots, pageRoot: page.root, ...more })
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    context.setDefaultTimeout(20_000)
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

const heading = (tab: Page, name: string): Promise<void> =>
  tab.getByRole("heading", { level: 1, name, exact: true }).waitFor()
const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })

/** The six figures by a short name. */
const FIGURES = {
  slots: "Slots in use",
  waiting: "Waiting",
  refused: "Refused",
  unchecked: "Addresses not checked",
} as const
type FigureName = keyof typeof FIGURES | `${keyof typeof FIGURES}-more`

const figure = (tab: Page, name: FigureName) => {
  const [of = "", more] = name.split("-")
  const term = tab
    .getByRole("term")
    .getByText(Object.entries(FIGURES).find(([key]) => key === of)?.[1] ?? "", { exact: true })
  return tab
    .locator(".figures > div")
    .filter({ has: term })
    .getByRole("definition")
    .nth(more === undefined ? 0 : 1)
}
const shows = (tab: Page, name: FigureName, text: string): Promise<void> =>
  eventually(`${name} shows ${text}`, async () => (await figure(tab, name).textContent()) === text)
/** The rows of a table that have cells: not its head. */
const rows = (tab: Page, table: string) =>
  tab
    .getByRole("group", { name: table })
    .getByRole("row")
    .filter({ has: tab.getByRole("cell") })
const said = (tab: Page, text: string | RegExp): Promise<void> => tab.getByRole("status").getByText(text).waitFor()
const hash = (ticket: string): string => createHash("sha1").update(ticket).digest("hex").slice(0, 10)

const legendOf = async (tab: Page, name: string): Promise<string> =>
  (await tab.getByRole("list", { name }).textContent()) ?? ""

interface Sight {
  readonly chart: string
  /** the name of the element that is seen and clicked in the middle of the chart */
  readonly middle: string
  /** texts of the notes that lie over it */
  readonly notes: ReadonlyArray<string>
  /** which of the series colours its canvas shows outside of the axes */
  readonly drawn: ReadonlyArray<number>
}

/** What a visitor sees of each chart: evaluated in the page, which has no script of ours. The axes are left and below. */
const sights = async (tab: Page): Promise<ReadonlyArray<Sight>> =>
  tab.evaluate(`[...document.querySelectorAll("[data-plot]")].map((plot) => {
    plot.scrollIntoView({ block: "center" })
    const box = plot.getBoundingClientRect()
    const middle = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
    const canvas = plot.querySelector("canvas")
    const scale = canvas.width / canvas.getBoundingClientRect().width
    const [left, below] = [Math.round(40 * scale), Math.round(26 * scale)]
    const { data } = canvas.getContext("2d").getImageData(left, 0, canvas.width - left, canvas.height - below)
    const colors = new Set()
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 255) colors.add(data[i] + "," + data[i + 1] + "," + data[i + 2])
    }
    const series = getComputedStyle(plot)
    const drawn = [...Array(11).keys()].map((n) => n + 1).filter((n) => {
      const [red, green, blue] = series.getPropertyValue("--series-" + n).trim().match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16))
      return colors.has(red + "," + green + "," + blue)
    })
    return {
      chart: plot.dataset.plot,
      middle: middle === null ? "" : middle.localName,
      notes: [...plot.querySelectorAll("p")].filter((note) => note.getClientRects().length > 0).map((note) => note.textContent),
      drawn,
    }
  })`)

/** Presses a button of the page and confirms what it asks. */
const confirm = async (tab: Page, name: string, question: string, yes: string): Promise<void> => {
  await button(tab, name).click()
  await tab.getByRole("dialog", { name: question }).getByRole("button", { name: yes, exact: true }).click()
}

const violations = async (tab: Page): Promise<ReadonlyArray<string>> => {
  // the page's policy forbids scripts in it, so axe is evaluated from outside
  await tab.evaluate(await readFile(AXE, "utf8"))
  const found: ReadonlyArray<{ id: string; nodes: ReadonlyArray<string> }> = await tab.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map((n) => n.html + n.failureSummary) })))",
  )
  return found.map(({ id, nodes }) => `${id}: ${nodes.join(" | ")}`)
}

describe.concurrent("signing in to the console", () => {
  it(
    "says that a wrong token is wrong and shows nothing, then opens with the right one",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn("a-wrong-token-0123456789")
      await tab.getByRole("alert").getByText("This token is not right.").waitFor()
      expect(await tab.getByRole("heading").allTextContents()).toEqual(["Sign in"])
      expect(await tab.getByRole("term").count()).toBe(0)
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await heading(tab, "Taking calls")
      expect(await tab.evaluate("document.activeElement.textContent")).toBe("Taking calls")
      expect(await tab.title()).toBe("Taking calls, 0 waiting: voicegate console")
    }),
  )

  it(
    "holds over a reload and ends with signing out, for this tab alone",
    visiting(1, 0, async ({ openTab, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.reload()
      await heading(tab, "Taking calls")
      const other = await openTab()
      await heading(other, "Sign in")
      await button(tab, "Sign out").click()
      await heading(tab, "Sign in")
      await tab.reload()
      await heading(tab, "Sign in")
    }),
  )

  it(
    "takes the right token at once after many wrong ones",
    visiting(1, 0, async ({ openTab }) => {
      const tab = await openTab()
      for (let n = 0; n < 11; n++) {
        await tab.getByLabel("Console token").fill(`wrong-token-${n}-0123456789`)
        const answered = tab.waitForResponse(/api\/view/)
        await button(tab, "Sign in").click()
        await answered
      }
      await tab.getByRole("alert").getByText("This token is not right.").waitFor()
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await heading(tab, "Taking calls")
    }),
  )
})

describe.concurrent("the console", () => {
  it(
    "draws its three charts, light and dark, covers them with nothing, and says how many were not checked",
    visiting(
      1,
      1,
      async ({ gate, signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        const ticket = await gate.ticket()
        await gate.call(2)
        await gate.hangUp(1)
        await gate.start(ticket)
        await tab.getByRole("list", { name: "Refusals in the last hour" }).getByText("Queue full").waitFor()
        await eventually("mean times", async () => !/none/.test(await legendOf(tab, "Mean times in the last hour")))
        for (const colorScheme of ["light", "dark"] as const) {
          await tab.emulateMedia({ colorScheme })
          const isDrawn = async () => (await sights(tab)).every(({ drawn }) => drawn.length > 0)
          await eventually("the charts are drawn", isDrawn)
          expect(await sights(tab)).toEqual([
            { chart: "admissions", middle: "canvas", notes: [], drawn: [1, 2, 3] },
            { chart: "refusals", middle: "canvas", notes: [], drawn: [3] },
            // both means are next to nothing, so that the one that is drawn last covers the other
            { chart: "times", middle: "canvas", notes: [], drawn: expect.arrayContaining([3]) },
          ])
        }
        await shows(tab, "unchecked", "4")
        await shows(tab, "unchecked-more", "4 let through, 0 blocked in the last hour")
      },
      { facts: { ...noFacts, vpn: null }, queueLength: 1 },
    ),
  )

  it(
    "asks before it acts, and does nothing when the answer is no",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await button(tab, "Pause calls").click()
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      expect(await tab.evaluate("document.activeElement.textContent")).toBe("Cancel")
      await button(tab, "Cancel").click()
      await button(tab, "Pause calls").click()
      await tab.keyboard.press("Escape")
      await gate.call(1)
      await shows(tab, "slots", "1 of 1")
      await heading(tab, "Taking calls")
      await tab.getByText("Nothing yet.").waitFor()
    }),
  )

  it(
    "pauses and resumes: who comes meanwhile queues, and is called after",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await heading(tab, "Paused")
      await said(tab, "Calls are paused.")
      const ticket = await gate.ticket()
      expect(await gate.state(ticket)).toBe("waiting")
      await shows(tab, "waiting", "1")
      await confirm(tab, "Resume calls", "Resume calls?", "Resume")
      await heading(tab, "Taking calls")
      expect(await gate.state(ticket)).toBe("called")
      await tab.getByRole("row", { name: /Paused calls Done/ }).waitFor()
      await tab.getByRole("row", { name: /127\.0\.0\.1 Resumed calls Done/ }).waitFor()
    }),
  )

  it(
    "calls the next one now although calls are paused, and says when no slot is free",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await heading(tab, "Paused")
      const ticket = await gate.ticket()
      await confirm(tab, "Call next now", "Call the next one now?", "Call")
      await said(tab, `${hash(ticket)} was called.`)
      expect(await gate.state(ticket)).toBe("called")
      await confirm(tab, "Call next now", "Call the next one now?", "Call")
      await said(tab, "Nobody was called: no slot is free.")
    }),
  )

  it(
    "removes a ticket from the queue, and its holder is told",
    visiting(1, 1, async ({ gate, signIn }) => {
      const [second, third] = [await gate.ticket(), await gate.ticket()]
      const tab = await signIn()
      const name = hash(second)
      await confirm(tab, `Remove ${name}`, `Remove ${name} from the queue?`, "Remove")
      await said(tab, `${name} was removed from the queue.`)
      expect(await gate.state(second)).toBe("removed")
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(third)}`) }).waitFor()
      await tab.getByRole("row", { name: new RegExp(`Removed ${name} Removed`) }).waitFor()
    }),
  )

  it(
    "ends a lease after it has said that the platform's session may run on",
    visiting(1, 0, async ({ gate, signIn }) => {
      const [first, second] = [await gate.ticket(), await gate.ticket()]
      const tab = await signIn()
      const name = hash(first)
      await button(tab, `End lease of ${name}`).click()
      await tab.getByText(/may run on there until it ends by itself/).waitFor()
      await button(tab, "End lease").click()
      await said(tab, `The lease of ${name} was ended.`)
      expect([await gate.state(first), await gate.state(second)]).toEqual(["removed", "called"])
      await tab.getByRole("row", { name: new RegExp(`^${hash(second)} Called`) }).waitFor()
    }),
  )

  it(
    "greys what it last knew while the store is away, and goes on when it is back",
    visiting(1, 3, async ({ gate, signIn }) => {
      const tab = await signIn()
      await shows(tab, "waiting", "2")
      gate.setAway(true)
      await tab.getByRole("alert").getByText("The store cannot be reached.").waitFor()
      await tab.getByText("Fails").waitFor()
      await shows(tab, "waiting", "2")
      gate.setAway(false)
      await tab.getByRole("alert").getByText("The store cannot be reached.").waitFor({ state: "hidden" })
    }),
  )

  it(
    "says that it is not live while the gate does not answer",
    visiting(1, 0, async ({ context, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await context.setOffline(true)
      await tab.getByText("Not live").waitFor()
      await tab.getByRole("alert").getByText("The gate does not answer. Trying again.").waitFor()
      await context.setOffline(false)
      await tab.getByText("Live", { exact: true }).waitFor()
    }),
  )

  it(
    "keeps the focus on a row's button over every redraw",
    visiting(1, 3, async ({ gate, signIn }) => {
      const tab = await signIn()
      const remove = rows(tab, "Queue").getByRole("button").nth(1)
      await remove.focus()
      const name = await remove.textContent()
      await tab.waitForResponse(/api\/view/)
      await gate.call(1)
      await shows(tab, "waiting", "3")
      expect(await tab.evaluate("document.activeElement.textContent")).toBe(name)
    }),
  )

  it(
    "is used by keyboard alone: sign in, act, confirm, and the focus stays where it was",
    visiting(1, 0, async ({ openTab }) => {
      const tab = await openTab()
      const focused = () => tab.evaluate("document.activeElement.textContent")
      await tab.keyboard.type(TOKEN)
      await tab.keyboard.press("Enter")
      await heading(tab, "Taking calls")
      for (let presses = 0; presses < 10 && (await focused()) !== "Pause calls"; presses++)
        await tab.keyboard.press("Tab")
      expect(await focused()).toBe("Pause calls")
      await tab.keyboard.press("Enter")
      await tab.getByRole("dialog").waitFor()
      await tab.keyboard.press("Tab")
      await tab.keyboard.press("Enter")
      await heading(tab, "Paused")
      await eventually("the focus on the switch", async () => (await focused()) === "Resume calls")
    }),
  )

  for (const colorScheme of ["light", "dark"] as const) {
    it(
      `has nothing that axe finds wrong, in the ${colorScheme}`,
      visiting(2, 40, async ({ openTab }) => {
        const tab = await openTab()
        await tab.emulateMedia({ colorScheme })
        expect(await violations(tab)).toEqual([])
        await tab.getByLabel("Console token").fill("a-wrong-token-0123456789")
        await button(tab, "Sign in").click()
        await tab.getByRole("alert").getByText("This token is not right.").waitFor()
        expect(await violations(tab)).toEqual([])
        await tab.getByLabel("Console token").fill(TOKEN)
        await button(tab, "Sign in").click()
        await shows(tab, "waiting", "38")
        await confirm(tab, "Pause calls", "Pause calls?", "Pause")
        await tab.getByRole("row", { name: /Paused calls/ }).waitFor()
        expect(await violations(tab)).toEqual([])
        await button(tab, "Drain").click()
        await tab.getByRole("dialog").waitFor()
        expect(await violations(tab)).toEqual([])
      }),
    )
  }

  it(
    "fits a phone of 360 pixels, empty and full",
    visiting(2, 40, async ({ openTab }) => {
      const tab = await openTab()
      await tab.setViewportSize({ width: 360, height: 740 })
      const overflow = () => tab.evaluate("document.documentElement.scrollWidth - innerWidth")
      expect(await overflow()).toBe(0)
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await shows(tab, "waiting", "38")
      expect(await overflow()).toBe(0)
    }),
  )
})

// what is counted is counted for the process, and time is measured: one after the other
describe("the console by itself", () => {
  it(
    "shows an empty gate as empty",
    visiting(3, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await shows(tab, "slots", "0 of 3")
      await tab.getByText("No slot is held.").waitFor()
      await tab.getByText("Nobody waits.").waitFor()
      await tab.getByText("No requests in the last hour").waitFor()
      await tab.getByText("Nothing yet.").waitFor()
      await eventually(
        "health",
        async () => (await tab.getByRole("list", { name: "Health" }).getByText("Works").count()) === 4,
      )
    }),
  )

  it(
    "shows callers as they come, without a reload, and no ticket's id",
    visiting(2, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      const tickets = [await gate.ticket(), await gate.ticket(), await gate.ticket()]
      await shows(tab, "slots", "2 of 2")
      await shows(tab, "waiting", "1")
      await shows(tab, "waiting-more", "1 present")
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(tickets[2] ?? "")}`) }).waitFor()
      expect(await tab.getByRole("row").getByText("In call").count()).toBe(2)
      const legend = tab.getByRole("list", { name: "Admissions in the last hour" })
      await eventually("the counts", async () => /at once2Queued1/.test((await legend.textContent()) ?? ""))
      for (const ticket of tickets) expect(await tab.content()).not.toContain(ticket)
    }),
  )

  it(
    "says that the platform cannot be reached, in words that pass axe, and shows a start in doubt with its ticket",
    visiting(2, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      gate.setStarts(unavailable("timeout", true, "no answer within 15 s"))
      const doubted = await gate.ticket()
      await shows(tab, "slots-more", "0 in call, 0 called or starting, 1 not confirmed")
      const name = `${hash(doubted)} Start not confirmed`
      await tab.getByRole("row", { name: new RegExp(name) }).waitFor()
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(doubted)}`) }).waitFor()

      gate.setStarts(unavailable("unreachable", false, "refused"))
      const called = await gate.ticket()
      await eventually("it is called", async () => (await gate.state(called)) === "called")
      await gate.start(called).catch(() => {})
      await heading(tab, "Platform unreachable")
      await tab
        .getByText(/^Everybody keeps their place\. One caller at a time is called to find out(, the next in \d s)?\.$/)
        .waitFor()
      expect(await tab.title()).toMatch(/^Platform unreachable, [12] waiting: /)
      for (const colorScheme of ["light", "dark"] as const) {
        await tab.emulateMedia({ colorScheme })
        expect(await violations(tab)).toEqual([])
        if (process.env.SHOTS !== undefined)
          await tab.screenshot({ path: `${process.env.SHOTS}/console-disrupted-${colorScheme}.png`, fullPage: true })
      }
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await tab.getByText("Newcomers queue, and nobody is called. The platform cannot be reached.").waitFor()
      await confirm(tab, "Resume calls", "Resume calls?", "Resume")

      await tab
        .getByRole("row", { name: new RegExp(name) })
        .getByRole("button")
        .click()
      await tab.getByText(/The caller keeps the place\.$/).waitFor()
      await button(tab, "End lease").click()
      await tab
        .getByRole("row", { name: new RegExp(`Ended lease of ${hash(doubted)} Freed, start not confirmed`) })
        .waitFor()
      gate.setStarts(undefined)
      const start = async () =>
        gate.start(doubted).then(
          () => true,
          () => false,
        )
      await eventually("the first is started", start, 20_000)
      await heading(tab, "Taking calls")
    }),
  )

  it(
    "counts refusals by reason",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await confirm(tab, "Drain", "Drain the queue?", "Drain")
      await heading(tab, "Draining")
      await gate.call(3)
      const legend = tab.getByRole("list", { name: "Refusals in the last hour" })
      await eventually("the refusals", async () => (await legend.textContent()) === "Draining3")
      await shows(tab, "refused", "3")
    }),
  )

  it(
    "stays fast with 10,000 who wait: a page of 25, any place by its number, answers of a few kilobytes",
    visiting(50, 10_050, async ({ signIn }) => {
      const tab = await signIn()
      await shows(tab, "waiting", "10,000")
      await shows(tab, "slots", "50 of 50")
      expect(await rows(tab, "Queue").count()).toBe(25)
      expect(await rows(tab, "Slots").count()).toBe(25)
      expect(await tab.locator("*").count()).toBeLessThan(1_200)

      const began = performance.now()
      await tab.getByLabel("Go to place of queue").fill("9999")
      await tab.keyboard.press("Enter")
      await tab.getByRole("row", { name: /^9,999 / }).waitFor()
      expect(performance.now() - began).toBeLessThan(1_000)
      await tab.getByText("9,976 to 10,000 of 10,000").waitFor()
      await tab.getByRole("button", { name: "Previous queue" }).click()
      await tab.getByRole("row", { name: /^9,951 / }).waitFor()

      const response = await tab.waitForResponse(/api\/view/)
      expect((await response.body()).length).toBeLessThan(12_000)
      // no redraw may hold the page for longer than a frame or two
      const longest: number = await tab.evaluate(`new Promise((resolve) => {
      let longest = 0, last = performance.now(), end = last + 3000
      const frame = (now) => {
        longest = Math.max(longest, now - last)
        last = now
        if (now < end) requestAnimationFrame(frame)
        else resolve(longest)
      }
      requestAnimationFrame(frame)
    })`)
      expect(longest).toBeLessThan(250)
    }),
  )
})
