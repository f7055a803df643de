/** What an operator does on the console: each action after a question. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { eventually } from "../../harness/process.ts"
import { focusOn, tabTo } from "../focus.ts"
import { violations } from "./axe.ts"
import { TOKEN } from "./support.ts"
import { button, confirm, hash, heading, prepareVisits, rows, said, shows, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("the console", () => {
  it(
    "asks before it acts, and does nothing when the answer is no",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await button(tab, "Pause calls").click()
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await button(tab, "Cancel").click()
      await button(tab, "Pause calls").click()
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await tab.keyboard.press("Escape")
      await tab.getByRole("dialog").waitFor({ state: "detached" })
      await button(tab, "Drain").click()
      await tab.getByRole("dialog", { name: "Drain the queue?" }).waitFor()
      await focusOn(tab, "Cancel")
      await tab.keyboard.press("Enter")
      await tab.getByRole("dialog").waitFor({ state: "detached" })
      await gate.call(1)
      await shows(tab, "slots", "1 of 1")
      await heading(tab, "Taking calls")
      await tab.getByText("No activity yet.").waitFor()
    }),
  )

  it(
    "reloads the settings, and names what changed and what needs a restart",
    visiting(
      1,
      0,
      async ({ signIn }) => {
        const tab = await signIn()
        await confirm(tab, "Reload settings", "Reload the settings?", "Reload")
        await said(tab, "Changed: Queue.MaxLength. Takes a restart: Server.Port.")
      },
      { reload: { _tag: "applied", changed: ["Queue.MaxLength"], kept: ["Server.Port"] } },
    ),
  )

  it(
    "shows which settings changed from what to what, and on request nothing else",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      const log = tab.getByRole("group", { name: "Activity log" })
      await log.getByText("Paused calls").waitFor()
      const changes = [
        { setting: "Queue.MaxLength", before: "10000", after: "20" },
        { setting: "VoiceAiPlatform.Campaigns.sales (added)" },
      ]
      await Effect.runPromise(gate.operator.noteSettings("SIGHUP", changes))
      const filter = tab.getByLabel("Show in the activity log")
      await filter.selectOption("Settings changes")
      await log.getByRole("row", { name: /SIGHUP Changed settings/ }).waitFor()
      const items = await log.getByRole("listitem").allInnerTexts()
      expect(items.map((text) => text.replace(/\s+/g, " "))).toEqual([
        "Queue.MaxLength 10000 → to 20",
        "VoiceAiPlatform.Campaigns.sales (added)",
      ])
      expect(await log.getByText("Paused calls").count()).toBe(0)
      await filter.selectOption("Operator actions")
      await log.getByText("Paused calls").waitFor()
      await log.getByText("Queue.MaxLength").waitFor({ state: "detached" })
      await filter.selectOption("All activity")
      await log.getByText("Queue.MaxLength").waitFor()
      expect(await violations(tab)).toEqual([])
    }),
  )

  it(
    "says that it waits for a gate that takes long to answer",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await tab.route(/api\/actions/, async (route) => {
        await held
        await route.continue()
      })
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await said(tab, "Waiting for the gate…")
      release()
      await said(tab, "Calls paused.")
      await heading(tab, "Paused")
    }),
  )

  it(
    "says why settings were not reloaded",
    visiting(
      1,
      0,
      async ({ signIn }) => {
        const tab = await signIn()
        await confirm(tab, "Reload settings", "Reload the settings?", "Reload")
        await said(tab, "Reload failed: The settings were not changed. Queue.MaxLength: expected a number")
      },
      { reload: { _tag: "refused", problems: ["Queue.MaxLength: expected a number"] } },
    ),
  )

  it(
    "says that a host determines the settings of its gate",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await confirm(tab, "Reload settings", "Reload the settings?", "Reload")
      await said(tab, "Reload failed: The host application of this gate determines its settings.")
    }),
  )

  it(
    "pauses and resumes: who comes meanwhile queues, and is called after",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await confirm(tab, "Pause calls", "Pause calls?", "Pause")
      await heading(tab, "Paused")
      await said(tab, "Calls paused.")
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
      await confirm(tab, "Call next", "Call the next caller?", "Call next")
      await said(tab, `${hash(ticket)} was called.`)
      expect(await gate.state(ticket)).toBe("called")
      await confirm(tab, "Call next", "Call the next caller?", "Call next")
      await said(tab, "No one was called: no slot is free.")
    }),
  )

  it(
    "removes a ticket from the queue, and its holder is told",
    visiting(1, 1, async ({ gate, signIn }) => {
      const [second, third] = [await gate.ticket(), await gate.ticket()]
      const tab = await signIn()
      const name = hash(second)
      await confirm(tab, `Remove ${name}`, `Remove ${name} from the queue?`, "Remove")
      await said(tab, `Removed ${name} from the queue.`)
      expect(await gate.state(second)).toBe("removed")
      await tab.getByRole("row", { name: new RegExp(`^1 ${hash(third)}`) }).waitFor()
      await tab.getByRole("row", { name: new RegExp(`Removed ${name} Removed`) }).waitFor()
    }),
  )

  it(
    "ends a call: it says that the call ends at the platform, and then what became of it",
    visiting(1, 0, async ({ gate, signIn }) => {
      const [first, second] = [await gate.ticket(), await gate.ticket()]
      const tab = await signIn()
      const [one, two] = [hash(first), hash(second)]
      const logged = (result: string) => tab.getByRole("row", { name: new RegExp(`Ended ${one} ${result}`) }).waitFor()
      gate.setEnds(false)
      await button(tab, `End call ${one}`).click()
      await tab.getByText(/The call ends at the platform, then the slot goes to the next caller/).waitFor()
      await button(tab, "End call").click()
      await said(tab, `The platform hasn’t confirmed the end of ${one} yet. The slot is free within a minute.`)
      await tab.getByRole("row", { name: new RegExp(`^${one} .*Ending`) }).waitFor()
      await logged("Asked the platform")
      expect([await button(tab, `End call ${one}`).count(), await gate.state(second)]).toEqual([0, "waiting"])

      await gate.hangUp(1)
      await logged("Ended at the platform")
      expect([await gate.state(first), await gate.state(second)]).toEqual(["stopped", "called"])
      await gate.start(second)
      gate.setEnds(true)
      await confirm(tab, `End call ${two}`, `End the call of ${two}?`, "End call")
      await said(tab, `Ended ${two}. The slot is free.`)
      expect(await gate.state(second)).toBe("stopped")
    }),
  )

  it(
    "is used by keyboard alone: sign in, act, confirm, and the focus stays where it was",
    visiting(1, 0, async ({ openTab }) => {
      const tab = await openTab()
      await focusOn(tab, "Console token")
      await tab.keyboard.type(TOKEN)
      await tab.keyboard.press("Enter")
      await heading(tab, "Taking calls")
      await tabTo(tab, "Pause calls")
      await tab.keyboard.press("Enter")
      await tab.getByRole("dialog").waitFor()
      await focusOn(tab, "Until I resume")
      // the key that opened the dialog may still be down
      await tab.keyboard.press("Enter")
      await tabTo(tab, "Pause")
      await tab.keyboard.press("Enter")
      await heading(tab, "Paused")
      await focusOn(tab, "Resume calls")
    }),
  )

  it(
    "removes who waits by keyboard alone, and the focus goes on in the list",
    visiting(1, 1, async ({ gate, signIn }) => {
      const [second, third] = [await gate.ticket(), await gate.ticket()]
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await shows(tab, "waiting", "2")
      await tabTo(tab, `Remove ${hash(second)}`)
      await tab.keyboard.press("Enter")
      await focusOn(tab, "Cancel")
      await tab.keyboard.press("Enter")
      await focusOn(tab, `Remove ${hash(second)}`)
      await tab.keyboard.press("Enter")
      await focusOn(tab, "Cancel")
      await tabTo(tab, "Remove")
      await tab.keyboard.press("Enter")
      await said(tab, `Removed ${hash(second)} from the queue.`)
      await shows(tab, "waiting", "1")
      await eventually("the focus in the list", async () =>
        Boolean(await tab.evaluate("document.activeElement.closest('.queue') !== null")),
      )
      await tabTo(tab, `Remove ${hash(third)}`)
    }),
  )

  it(
    "names the campaign and the number of calls before it acts, and acts on no other campaign",
    visiting(
      1,
      1,
      async ({ signIn }) => {
        const tab = await signIn()
        const campaign = (name: string) => tab.getByRole("link", { name: new RegExp(`^${name}`) })
        await campaign("sales").click()
        await button(tab, "Drain").click()
        const dialog = tab.getByRole("dialog")
        await dialog.getByText("Campaign sales", { exact: true }).waitFor()
        // the browser's back button leads to another campaign
        await tab.goBack()
        await dialog.waitFor({ state: "detached" })
        await shows(tab, "slots", "1 of 1")
        await button(tab, "End all calls").click()
        await dialog.getByText("Campaign default", { exact: true }).waitFor()
        await dialog.getByText(/^1 call runs now\./).waitFor()
        expect(await violations(tab)).toEqual([])
        await dialog.getByRole("button", { name: "End all calls" }).click()
        await said(tab, "1 call is being ended. Its slot is free within a minute.")
      },
      { campaigns: ["sales"] },
    ),
  )

  it(
    "opens its actions by single keys, lists the keys, and takes none while somebody types, in a dialog, or when they are off",
    visiting(1, 60, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.keyboard.press("p")
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await tab.keyboard.press("d")
      await tab.keyboard.press("Escape")
      await tab.getByRole("dialog").waitFor({ state: "detached" })
      await tab.getByRole("spinbutton").focus()
      await tab.keyboard.press("p")
      await tab.keyboard.press("?")
      await tab.getByRole("spinbutton").blur()
      await tab.keyboard.press("Control+d")
      await tab.keyboard.press("?")
      // the only dialog: the keys before opened none
      await tab.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
      expect(await tab.getByRole("dialog").count()).toBe(1)
      await tab.getByText("Call next", { exact: true }).last().waitFor()
      await tab.getByRole("checkbox", { name: "Use shortcuts in this browser" }).uncheck()
      await button(tab, "Close").click()
      await tab.keyboard.press("n")
      await tab.keyboard.press("?")
      await tab.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor()
      await tab.getByRole("checkbox", { name: "Use shortcuts in this browser" }).check()
      await button(tab, "Close").click()
      await tab.keyboard.press("n")
      await tab.getByRole("dialog", { name: "Call the next caller?" }).waitFor()
    }),
  )

  it(
    "blocks an address from the list of refusals, shows it as blocked, finds its callers, and lifts the block",
    visiting(
      1,
      2,
      async ({ gate, signIn }) => {
        const tab = await signIn()
        await heading(tab, "Taking calls")
        await gate.call(1)
        await rows(tab, "Refused").first().getByText("Queue full").waitFor()
        await rows(tab, "Refused").first().getByRole("button").click()
        const dialog = tab.getByRole("dialog", { name: "Block 192.0.2.1?" })
        await dialog.getByRole("radio", { name: "For a day" }).check()
        // the key on a choice does not block
        await tab.keyboard.press("Enter")
        await button(tab, "Block").click()
        await said(tab, /^192\.0\.2\.1 is blocked until /)
        await rows(tab, "Blocked addresses").getByText("192.0.2.1", { exact: true }).waitFor()
        await rows(tab, "Addresses that ask most").getByText("Blocked", { exact: true }).waitFor()
        await rows(tab, "Refused").first().getByText("Blocked", { exact: true }).waitFor()
        await gate.call(1)
        await rows(tab, "Refused").getByText("Blocked by an operator").waitFor()
        await tab.getByRole("row", { name: /Blocked 192\.0\.2\.1 until .* Done/ }).waitFor()
        // who waits and talks stays, and is found by the address
        await tab.getByLabel("Find a caller").fill("192.0.2.1")
        await tab.keyboard.press("Enter")
        await tab.getByRole("search").getByText("number 1 in the queue").waitFor()
        await tab.getByRole("search").getByText("This address is blocked.").waitFor()
        await button(tab, "Lift the block").click()
        await button(tab, "Cancel").click()
        expect(await violations(tab)).toEqual([])
        await confirm(tab, "Lift the block of 192.0.2.1", "Lift the block of 192.0.2.1?", "Lift the block")
        await said(tab, "192.0.2.1 isn’t blocked any more.")
        await tab.getByText("No address is blocked.").waitFor()
      },
      { queueLength: 1 },
    ),
  )

  it(
    "finds a ticket by its hash, far back in the queue, and shows its row",
    visiting(1, 70, async ({ gate, signIn }) => {
      const name = hash(await gate.ticket())
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.keyboard.press("/")
      await focusOn(tab, "Find a caller")
      await tab.keyboard.type("zz")
      await tab.keyboard.press("Enter")
      await tab.getByText(/Enter an address, a customer, or at least the first 4/).waitFor()
      await tab.getByLabel("Find a caller").fill(name.slice(0, 7))
      await tab.getByText(/Enter an address, a customer, or at least the first 4/).waitFor({ state: "detached" })
      await tab.keyboard.press("Enter")
      await tab.getByRole("search").getByText("number 70 in the queue").waitFor()
      await button(tab, `Show ${name}`).click()
      await tab.getByRole("row", { name: new RegExp(`^70 ${name}`) }).waitFor()
      await tab.getByLabel("Find a caller").fill("0123456789")
      await tab.keyboard.press("Enter")
      await tab.getByText("No one like this is waiting or in a call.").waitFor()
      // the answer of a gate whose queue is longer than what one search reads
      const part = { found: [], more: false, next: "0 default" }
      await tab.route(/api\/find\?hash=\w+$/, (route) => route.fulfill({ json: part }))
      await tab.getByLabel("Find a caller").fill(name)
      await tab.keyboard.press("Enter")
      await tab.getByRole("search").getByText("Not found yet.").first().waitFor()
      await tabTo(tab, "Keep searching")
      await tab.keyboard.press("Enter")
      await tab.getByRole("search").getByText("number 70 in the queue").waitFor()
      await button(tab, "Keep searching").waitFor({ state: "detached" })
    }),
  )
})
