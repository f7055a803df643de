/** The demo in WebKitGTK: the built program and its widget. Skipped where Debian's `webkit2gtk-driver` or `xvfb` is not installed. */
import { afterAll, beforeAll, describe, it } from "vitest"
import { program, whenBuilt } from "../harness/build.ts"
import { type Child, eventually, start } from "../harness/process.ts"
import { holdSlot } from "../support/other-caller.ts"
import { launchWebKit, missing, type WebKit } from "../support/webkit.ts"

const skipped = missing === undefined ? "" : ` (skipped: ${missing} is not installed)`

describe.skipIf(missing !== undefined)(`the demo in WebKit${skipped}`, () => {
  let demo: Child
  let browser: WebKit

  beforeAll(async () => {
    await whenBuilt()
    ;[demo, browser] = await Promise.all([
      start(process.execPath, [program, "demo", "--port", "0"], process.cwd()),
      launchWebKit(),
    ])
    await eventually("the demo", () => demo.output().includes("Stop with Ctrl-C"))
  })

  afterAll(async () => {
    await browser?.close()
    await demo?.stop()
  })

  const said = (pattern: RegExp): string => pattern.exec(demo.output())?.[1] ?? ""

  const hold = (): Promise<() => void> => holdSlot(said(/voicegate demo +(http\S+)/))

  const WIDGET = "const widget = document.querySelector('voice-agent'); const { shadowRoot } = widget;"
  const click = (name: string): Promise<unknown> =>
    browser.run(`${WIDGET}
      [...shadowRoot.querySelectorAll("button")].find(({ textContent }) => textContent === "${name}").click()`)
  const state = (name: string): Promise<void> =>
    eventually(
      `the state ${name}`,
      async () => (await browser.run(`${WIDGET} return widget.getAttribute("state")`)) === name,
    )
  const see = (text: string): Promise<void> =>
    eventually(`“${text}”`, async () =>
      String(await browser.run(`${WIDGET} return shadowRoot.querySelector(".panel").textContent`)).includes(text),
    )

  it("waits, is called, talks and hears, and hangs up", async () => {
    const hangUps = [await hold(), await hold()]
    await browser.open(said(/voicegate demo +(http\S+)/))
    await state("idle")
    await click("Start a call")
    await state("waiting")
    await see("You’re next.")
    hangUps[0]?.()
    await state("your-turn")
    await browser.run(`${WIDGET}
      window.loudest = { said: 0, heard: 0 }
      widget.agent.on("level", ({ said, heard }) => {
        window.loudest = { said: Math.max(said, window.loudest.said), heard: Math.max(heard, window.loudest.heard) }
      })`)
    await click("Start the call")
    await state("in-call")
    // the demo's agent repeats what the microphone hears
    for (const side of ["said", "heard"])
      await eventually(side, async () => Number(await browser.run(`return window.loudest.${side}`)) > 0.02)
    await click("Hang up")
    await state("ended")
    await see("Call ended")
    hangUps[1]?.()
  })

  it("shows the pages of the console and of the platform", async () => {
    for (const [address, text] of [
      [said(/Console +(http\S+)/), "token"],
      [said(/Local platform +(http\S+)/), "Password"],
    ] as const) {
      await browser.open(address)
      await eventually(text, async () => String(await browser.run("return document.body.textContent")).includes(text))
    }
  })
})
