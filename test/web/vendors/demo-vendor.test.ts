/** The demo with an agent of another vendor, as it is built: the page in a real browser calls by that vendor's fake. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Browser } from "playwright-core"
import { beforeAll, describe, expect, it } from "vitest"
import { VENDORS } from "../../../src/platform-api/vendors.ts"
import { program } from "../../harness/build.ts"
import { eventually, start } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { whenWebBuilt } from "../rig.ts"
import { startSite } from "../site.ts"
import { click, level, screen, see, visit } from "../visitor.ts"

let browser: Browser
beforeAll(async () => {
  ;[, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
})

/**
 * Those whose page is driven: they join in each way that the module of the demo knows. The page has nothing else of a vendor, so
 * `test/cli/demo/vendor.test.ts` asks of the others what it asks.
 */
const DRIVEN = ["livekit", "openai", "generic"]

const ADDRESS = /voicegate demo +(http\S+)\//

const demoOf = async (vendor: string, ...options: ReadonlyArray<string>) => {
  const demo = await start(
    process.execPath,
    [program, "demo", "--port", "0", "--vendor", vendor, ...options],
    process.cwd(),
  )
  await eventually("the demo's address", () => ADDRESS.test(demo.output()))
  return { demo, url: ADDRESS.exec(demo.output())?.[1] ?? "" }
}

describe("the demo of a vendor", () => {
  for (const vendor of DRIVEN) {
    it(`calls by the fake of ${vendor}, and queues the third caller`, async () => {
      const { demo, url } = await demoOf(vendor)
      const visitor = await visit(browser)
      try {
        const [first, second, third] = [await visitor.open(url), await visitor.open(url), await visitor.open(url)]
        for (const tab of [first, second]) {
          await click(tab, "Start a call")
          await screen(tab, "In call")
          await see(tab, `Hello. I repeat what you say. This is a call of ${vendor}.`)
        }
        await first.getByText("No other page may call this demo yet.").waitFor()
        const command = `npm start -- --vendor ${vendor} --allow-origin http://localhost:3000`
        await first.getByText(command).waitFor()
        expect(await first.getByText("may use these lines").isVisible()).toBe(false)
        await eventually("the echo", async () => (await level(first, "Agent")) > 0.2)
        await click(third, "Start a call")
        await screen(third, "Your place in the queue")
        const left = first.waitForResponse((response) => response.url().endsWith("/demo/leave"))
        await click(first, "Hang up")
        await screen(first, "Call ended")
        expect((await left).status()).toBe(204)
        // a slot of LiveKit is held until the token of its room has expired
        if (vendor !== "livekit") await screen(third, "Your turn")
        expect(visitor.complaints).toEqual([])
      } finally {
        await visitor.context.close()
        await demo.stop()
      }
    })
  }

  // one that joins by the demo, and one that joins by the gate
  for (const vendor of ["deepgram", "openai"]) {
    it(`calls by the fake of ${vendor} without the widget, and on another page with the lines that it shows`, async () => {
      const site = await startSite((_, response) => {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body)
      })
      let body = ""
      const { demo, url } = await demoOf(vendor, "--allow-origin", site.origin)
      const visitor = await visit(browser)
      try {
        const shown = await visitor.open(url)
        await see(shown, "Our voice agent answers right here in your browser.")
        const lines = (await shown.locator("pre").first().textContent()) ?? ""
        await shown.getByText(`A page at ${site.origin} may use these lines.`).waitFor()
        expect(await shown.getByText("No other page may call this demo yet.").isVisible()).toBe(false)
        await shown.getByText(`The agent is of ${vendor}: a fake of that vendor on this machine.`).waitFor()
        expect(await shown.getByText("it rings when the credential of the ended call has expired").count()).toBe(
          vendor === "deepgram" ? 1 : 0,
        )

        await shown.getByRole("link", { name: "Without the widget" }).click()
        await click(shown, "Start a call")
        await shown.getByText(/^In a call\./).waitFor()
        await shown.getByText(`This is a call of ${vendor}.`).waitFor()

        body = `<!doctype html><html lang="en"><title>Shop</title>${lines}</html>`
        const another = await visitor.open(site.origin)
        await click(another, "Start a call")
        await screen(another, "In call")
        await see(another, `Hello. I repeat what you say. This is a call of ${vendor}.`)
        const left = another.waitForResponse((response) => response.url().endsWith("/demo/leave"))
        await click(another, "Hang up")
        expect((await left).status()).toBe(204)
        expect(visitor.complaints).toEqual([])
      } finally {
        await visitor.context.close()
        await demo.stop()
        await site.stop()
      }
    })
  }

  it("is of a vendor that has a fake: another one is refused with the list, and the help has it", async () => {
    const run = promisify(execFile)
    const refused = await run(process.execPath, [program, "demo", "--vendor", "acme"]).then(
      () => ({ code: 0, stderr: "", stdout: "" }),
      (error: { readonly code: number; readonly stderr: string; readonly stdout: string }) => error,
    )
    expect(refused.code).toBe(2)
    for (const { platform } of VENDORS) expect(refused.stderr + refused.stdout).toContain(platform)
    const help = await run(process.execPath, [program, "demo", "--help"])
    expect(help.stdout).toContain("--vendor")
    for (const { platform } of VENDORS) expect(help.stdout).toContain(platform)
  })
})
