/** Signing in to the console, and out of it. */
import { describe, expect, it } from "vitest"
import { eventually } from "../../harness/process.ts"
import { focusOn } from "../focus.ts"
import { TOKEN } from "./support.ts"
import { button, heading, prepareVisits, visiting } from "./visit.ts"

prepareVisits()

describe.concurrent("signing in to the console", () => {
  it(
    "says that a wrong token is wrong and shows nothing, then opens with the right one",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn("a-wrong-token-0123456789")
      await tab.getByRole("alert").getByText("Incorrect token.").waitFor()
      expect(await tab.getByRole("heading").allTextContents()).toEqual(["Sign in"])
      expect(await tab.getByRole("term").count()).toBe(0)
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await heading(tab, "Taking calls")
      await focusOn(tab, "Taking calls")
      const title = "Taking calls, 0 waiting: voicegate console"
      await eventually("the title", async () => (await tab.title()) === title)
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
      await tab.getByRole("alert").getByText("Incorrect token.").waitFor()
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await heading(tab, "Taking calls")
    }),
  )

  it(
    "says that it signs in, and keeps the token when the gate does not answer",
    visiting(1, 0, async ({ openTab }) => {
      const tab = await openTab()
      let release = (): void => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      await tab.route(/api\/view/, async (route) => {
        await held
        await route.abort()
      })
      await tab.getByLabel("Console token").fill(TOKEN)
      await button(tab, "Sign in").click()
      await button(tab, "Signing in…").waitFor()
      release()
      await tab.getByRole("alert").getByText("The gate isn’t responding. Try again.").waitFor()
      await tab.unroute(/api\/view/)
      await button(tab, "Sign in").click()
      await heading(tab, "Taking calls")
    }),
  )

  it(
    "says after a reload that the gate does not answer, and opens when it does",
    visiting(1, 0, async ({ signIn }) => {
      const tab = await signIn()
      await heading(tab, "Taking calls")
      await tab.route(/api\/view/, (route) => route.abort())
      await tab.reload()
      await tab.getByText("The gate isn’t responding. Retrying.").waitFor()
      await heading(tab, "Disconnected")
      await tab.unroute(/api\/view/)
      await heading(tab, "Taking calls")
    }),
  )
})
