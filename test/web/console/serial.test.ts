/** The console by itself: what is counted is counted for the process, and time is measured, so one test follows the other. */
import { describe, expect, it } from "vitest"
import { unavailable } from "../../../src/platform-api/errors.ts"
import { eventually } from "../../harness/process.ts"
import { violations } from "./axe.ts"
import { button, confirm, hash, heading, prepareVisits, rows, shows, visiting } from "./visit.ts"

prepareVisits()

describe("the console by itself", () => {
  it(
    "shows an empty gate as empty",
    visiting(3, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await shows(tab, "slots", "0 of 3")
      await tab.getByText("No slots in use.").waitFor()
      await tab.getByText("No one is waiting.").waitFor()
      await tab.getByText("No recent refusals.").waitFor()
      await tab.getByText("Nobody was refused in the last hour").waitFor()
      await tab.getByText("No requests in the last hour.").waitFor()
      await tab.getByText("No activity yet.").waitFor()
      const health = tab.getByRole("list", { name: "Health" })
      await eventually("health", async () => (await health.getByText("Healthy", { exact: true }).count()) === 3)
      // no IP provider is configured
      const platform = health.getByRole("listitem").filter({ hasText: "Platform" })
      expect(await platform.getByRole("term").allTextContents()).toEqual(["Platform", "Not checked: region"])
      expect(await platform.getByRole("definition").count()).toBe(2)
      await health.getByRole("listitem").filter({ hasText: "IP provider" }).getByText("Off", { exact: true }).waitFor()
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
      await tab.getByText(/All slots are in use\.$/).waitFor()
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(tickets[2] ?? "")}`) }).waitFor()
      expect(await tab.getByRole("row").getByText("In call").count()).toBe(2)
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
      await shows(tab, "slots-more", "0 in call, 1 unconfirmed")
      const name = `^${hash(doubted)} .*Start unconfirmed`
      await tab.getByRole("row", { name: new RegExp(name) }).waitFor()
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(doubted)}`) }).waitFor()

      gate.setStarts(unavailable("unreachable", false, "refused"))
      const called = await gate.ticket()
      await eventually("it is called", async () => (await gate.state(called)) === "called")
      await gate.start(called).catch(() => {})
      await heading(tab, "Platform unreachable")
      await tab
        .getByText(
          /^Everyone keeps their place\. Callers are tried one at a time until the platform responds\.( The next test is in \d+ s\.)?( This has lasted for [\d:]+\.)?$/,
        )
        .waitFor()
      await eventually("the title", async () => /^⚠ Platform unreachable, [12] waiting: /.test(await tab.title()))
      for (const colorScheme of ["light", "dark"] as const) {
        await tab.emulateMedia({ colorScheme })
        expect(await violations(tab)).toEqual([])
        if (process.env.SHOTS !== undefined)
          await tab.screenshot({ path: `${process.env.SHOTS}/console-disrupted-${colorScheme}.png`, fullPage: true })
      }
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await tab.getByText("Paused. New callers wait; no one is called. The platform is unreachable.").waitFor()
      await confirm(tab, "Resume calls", "Resume calls?", "Resume")

      await tab
        .getByRole("row", { name: new RegExp(name) })
        .getByRole("button")
        .click()
      await tab.getByText(/The caller keeps their place\.$/).waitFor()
      await button(tab, "Free slot").click()
      await tab.getByRole("row", { name: new RegExp(`Ended ${hash(doubted)} Freed, start unconfirmed`) }).waitFor()
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
      await shows(tab, "refused", "3")
      expect(await rows(tab, "Refused").allInnerTexts()).toHaveLength(3)
      await rows(tab, "Refused").first().getByText("Draining").waitFor()
    }),
  )

  it(
    "stays small with 10,000 who wait: a page of 6, any place by its number, short answers, few changes of the page",
    visiting(50, 10_050, async ({ signIn }) => {
      const tab = await signIn()
      await shows(tab, "waiting", "10,000")
      await shows(tab, "slots", "50 of 50")
      expect(await rows(tab, "Waiting").count()).toBe(6)
      expect(await rows(tab, "In call").count()).toBe(6)
      expect(await tab.locator("*").count()).toBeLessThan(1_200)

      const answers: Array<Promise<number>> = []
      tab.on("response", (response) => {
        if (response.url().includes("api/view")) answers.push(response.body().then(({ length }) => length))
      })
      await tab.getByLabel("Go to place of queue").fill("9999")
      await tab.keyboard.press("Enter")
      await tab.getByRole("row", { name: /^9,999 / }).waitFor()
      await tab.getByText("9,997–10,000 of 10,000").waitFor()
      await tab.getByRole("button", { name: "Previous queue" }).click()
      await tab.getByRole("row", { name: /^9,991 / }).waitFor()
      const sizes = await Promise.all(answers)
      expect(sizes.length).toBeGreaterThan(1)
      expect(Math.max(...sizes)).toBeLessThan(12_000)

      // the waits of 10 rows change once a second, not those of everybody
      const changes: number = await tab.evaluate(`new Promise((resolve) => {
      let changes = 0
      const observer = new MutationObserver((records) => { changes += records.length })
      observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
      setTimeout(() => resolve(changes), 3_000)
    })`)
      expect(changes).toBeGreaterThan(0)
      expect(changes).toBeLessThan(300)
    }),
  )
})
