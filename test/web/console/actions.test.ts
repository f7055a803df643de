/** What an operator does on the console: each action after a question. */
import { describe, expect, it } from "vitest"
import { focusOn, tabTo } from "../focus.ts"
import { TOKEN } from "./support.ts"
import { button, confirm, hash, heading, prepareVisits, said, shows, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("the console", () => {
  it(
    "asks before it acts, and does nothing when the answer is no",
    visiting(1, 0, async ({ gate, signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await button(tab, "Pause calls").click()
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await focusOn(tab, "Cancel")
      await button(tab, "Cancel").click()
      await button(tab, "Pause calls").click()
      await tab.getByRole("dialog", { name: "Pause calls?" }).waitFor()
      await tab.keyboard.press("Escape")
      await tab.getByRole("dialog").waitFor({ state: "detached" })
      await gate.call(1)
      await shows(tab, "slots", "1 of 1")
      await heading(tab, "Taking calls")
      await tab.getByText("No actions yet.").waitFor()
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
      await focusOn(tab, "Cancel")
      await tab.keyboard.press("Tab")
      await tab.keyboard.press("Enter")
      await heading(tab, "Paused")
      await focusOn(tab, "Resume calls")
    }),
  )
})
