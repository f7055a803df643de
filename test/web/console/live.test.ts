/** The console as it goes on: what it shows while something is away, and where the focus stays. */
import { describe, expect, it } from "vitest"
import { VIEW_VERSION } from "../../../src/operator/view-version.ts"
import { eventually } from "../../harness/process.ts"
import { focused, focusOn } from "../focus.ts"
import { violations } from "./axe.ts"
import { button, heading, prepareVisits, rows, shows, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("the console", () => {
  it(
    "greys what it last knew while the store is away, and goes on when it is back",
    visiting(1, 3, async ({ gate, signIn }) => {
      const tab = await signIn()
      await shows(tab, "waiting", "2")
      gate.setAway(true)
      await heading(tab, "Store unreachable")
      await tab.getByText("Old figures", { exact: true }).waitFor()
      expect(await rows(tab, "Waiting").getByRole("button").count()).toBe(0)
      await tab.getByRole("alert").getByText("Store unreachable.").waitFor({ state: "attached" })
      await eventually(
        "the title",
        async () => (await tab.title()) === "⚠ Store unreachable, 2 waiting: voicegate console",
      )
      await tab.getByText("What to do: Start Redis, or make it reachable again").waitFor()
      await tab.getByText("Failing").waitFor()
      await shows(tab, "waiting", "2")
      gate.setAway(false)
      await heading(tab, "Taking calls")
      expect(await tab.getByRole("alert").textContent()).toBe("")
    }),
  )

  it(
    "says that it is not live while the gate does not answer",
    visiting(1, 0, async ({ context, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await context.setOffline(true)
      await heading(tab, "Disconnected")
      await tab
        .getByText(/^The gate isn’t responding\. Retrying\. What is shown is what it said at .* ago\.$/)
        .waitFor()
      await context.setOffline(false)
      await tab.getByText("Live", { exact: true }).waitFor()
    }),
  )

  it(
    "has the check that fails first, and leads to it",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.route(/api\/view/, async (route) => {
        const response = await route.fetch()
        const view = await response.json()
        const keys = { name: "Identity keys", state: "failed", detail: "no answer", at: view.now }
        await route.fulfill({ response, json: { ...view, health: [...view.health, keys] } })
      })
      await heading(tab, "Identity keys failing")
      await tab.getByRole("link", { name: "Details" }).click()
      await focusOn(tab, "Health")
      expect(await tab.getByRole("region", { name: "Health" }).getByRole("listitem").first().textContent()).toBe(
        "Identity keysFailingno answer",
      )
    }),
  )

  it(
    "says which campaign it waits for, and has no buttons and no keys until it knows that campaign",
    visiting(
      1,
      3,
      async ({ signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        let release = (): void => {}
        const held = new Promise<void>((resolve) => {
          release = resolve
        })
        await tab.route(/api\/view\?campaign=sales/, async (route) => {
          await held
          await route.continue()
        })
        await tab.getByRole("link", { name: /^sales/ }).click()
        await heading(tab, "Loading sales…")
        await tab.getByText("The gate is asked for this campaign. What is shown below is of default.").waitFor()
        expect(await button(tab, "Pause calls").count()).toBe(0)
        // its callers are numbered as those of the other campaign
        expect(await rows(tab, "Waiting").count()).toBe(2)
        expect(await rows(tab, "Waiting").getByRole("button").count()).toBe(0)
        for (const key of ["n", "p", "d", "?"]) await tab.keyboard.press(key)
        // the only dialog: the keys before opened none
        await tab.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
        expect(await tab.getByRole("dialog").count()).toBe(1)
        await tab.keyboard.press("Escape")
        release()
        await heading(tab, "Taking calls")
        await button(tab, "Pause calls").waitFor()
      },
      { campaigns: ["sales"] },
    ),
  )

  it(
    "names no other campaign with a problem while the gate does not answer, because that is not known",
    visiting(
      1,
      0,
      async ({ signIn, context }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        await tab.route(/api\/campaigns/, async (route) => {
          const response = await route.fetch()
          const view = await response.json()
          const [one, sales] = view.campaigns
          const down = { ...sales, figures: { ...sales.figures, disrupted: true } }
          await route.fulfill({ response, json: { ...view, campaigns: [one, down] } })
        })
        const elsewhere = tab.getByRole("list", { name: "Other campaigns with a problem" })
        await elsewhere.waitFor()
        await context.setOffline(true)
        await heading(tab, "Disconnected")
        expect(await elsewhere.count()).toBe(0)
        await tab.unrouteAll({ behavior: "ignoreErrors" })
      },
      { campaigns: ["sales"] },
    ),
  )

  it(
    "has a full bar for a budget of which nothing is used",
    visiting(
      1,
      0,
      async ({ signIn }) => {
        const tab = await signIn()
        const budget = rows(tab, "Budgets")
        await budget.getByText("60 min").first().waitFor()
        expect(await budget.locator(".gauge > div").getAttribute("style")).toBe("transform: scaleX(1);")
        await tab.getByRole("columnheader", { name: "Resets" }).waitFor()
      },
      { budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 60 }] },
    ),
  )

  it(
    "says that an instance is down, and what to do",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.route(/api\/view/, async (route) => {
        const response = await route.fetch()
        const view = await response.json()
        const [one] = view.instances
        const silent = { ...one, id: "dead", host: "vm-2", seenAt: view.now - 45_000 }
        const down = { name: "Instance vm-2", state: "failed", detail: "dead has not reported", at: view.now }
        const json = { ...view, instances: [silent, ...view.instances], health: [...view.health, down] }
        await route.fulfill({ response, json })
      })
      await heading(tab, "Instance vm-2 is down")
      await tab
        .getByText("What to do: Look at that host: is the process alive, and what does its log end with?")
        .waitFor()
      await tab.getByRole("row", { name: /^dead vm-2 – – 0:4\d ago$/ }).waitFor()
      await tab.getByText(/^1 of \d checks fail: Instance vm-2$/).waitFor()
      expect(await violations(tab)).toEqual([])
      await tab.unrouteAll({ behavior: "ignoreErrors" })
    }),
  )

  it.each([
    ["a newer", { version: VIEW_VERSION + 1 }],
    // a view without a version is from a gate before the field existed
    ["an older", { version: undefined }],
  ])("says that an instance of %s version answered, and goes on when one of its own does", (_, change) =>
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.route(/api\/view/, async (route) => {
        const response = await route.fetch()
        const view: Record<string, unknown> = await response.json()
        await route.fulfill({ response, json: { ...view, ...change } })
      })
      const message = tab.getByText("An instance running another version responded. Retrying.")
      await message.waitFor()
      await tab.getByText("What to do: Reload the page.", { exact: true }).waitFor()
      await heading(tab, "Disconnected")
      await tab.unroute(/api\/view/)
      await message.waitFor({ state: "hidden" })
      await tab.getByText("Live", { exact: true }).waitFor()
    })(),
  )

  it(
    "keeps the focus on a row's button over every redraw",
    visiting(1, 3, async ({ gate, signIn }) => {
      const tab = await signIn()
      const remove = rows(tab, "Waiting").getByRole("button").nth(1)
      await remove.focus()
      const name = await focused(tab)
      await tab.waitForResponse(/api\/view/)
      await gate.call(1)
      await shows(tab, "waiting", "3")
      await focusOn(tab, name)
    }),
  )

  it(
    "moves the focus to the table when the row that had it is gone",
    visiting(1, 3, async ({ gate, signIn }) => {
      const tab = await signIn()
      const remove = rows(tab, "Waiting").getByRole("button").first()
      await remove.focus()
      await shows(tab, "waiting", "2")
      // the first in line is called, and its row goes
      await gate.hangUp(1)
      await shows(tab, "waiting", "1")
      const name = "document.getElementById(document.activeElement.getAttribute('aria-labelledby'))?.textContent"
      await eventually("the focus on the table", async () => (await tab.evaluate(name)) === "Waiting")
    }),
  )
})
