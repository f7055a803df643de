/** A small window that stays above others while the visitor waits (picture-in-picture), where a page switches it on. */
import axe from "axe-core"
import { describe, expect, it } from "vitest"
import { click, place, screen, see } from "../../visitor.ts"
import { check, shots } from "../extras/extras-check.ts"
import { useShop, violations } from "../shop.ts"

const { open, widget } = useShop()

describe("a small window", () => {
  it("shows the place and starts the call at the turn, and closes with it", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    const hangUp = await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    await check(tab, "waiting-float")
    const [small] = await Promise.all([tab.context().waitForEvent("page"), click(tab, "Keep in a small window")])
    await small.getByRole("heading", { name: "Your place in the queue" }).waitFor()
    await small.getByText("You’re next.", { exact: false }).waitFor()
    expect(await tab.getByRole("button", { name: "Keep in a small window" }).count()).toBe(0)
    await small.evaluate(axe.source)
    expect(await violations(small)).toEqual([])
    if (shots !== undefined) await small.setViewportSize({ width: 320, height: 220 })
    if (shots !== undefined) await small.screenshot({ path: `${shots}/float.png` })
    hangUp()
    await small.getByRole("heading", { name: "Your turn" }).waitFor()
    if (shots !== undefined) await small.setViewportSize({ width: 320, height: 220 })
    if (shots !== undefined) await small.screenshot({ path: `${shots}/float-turn.png` })
    const closed = small.waitForEvent("close")
    await small.getByRole("button", { name: "Start the call" }).click()
    await closed
    await screen(tab, "In call")
  })

  it("opens once at a double click, and its button comes back in another language", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    await tab.evaluate(`
      window.opened = 0
      const pip = window.documentPictureInPicture
      const open = pip.requestWindow.bind(pip)
      pip.requestWindow = (size) => (window.opened++, open(size))`)
    const button = tab.getByRole("button", { name: "Keep in a small window" })
    const [small] = await Promise.all([tab.context().waitForEvent("page"), button.dblclick()])
    expect(await tab.evaluate("window.opened")).toBe(1)
    await tab.evaluate('document.documentElement.lang = "de"')
    await tab.getByText("Ihr Platz", { exact: false }).first().waitFor()
    await small.close()
    await tab.getByRole("button", { name: "In kleinem Fenster" }).waitFor()
  })

  it("has the language and the direction of the widget, also when they change, and leaves the choice of languages to the page", async () => {
    const tab = await open('<voice-agent picture-in-picture languages="en de ar"></voice-agent>')
    const hangUp = await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    const choice = tab.getByRole("combobox", { name: "Language" })
    await choice.selectOption("ar")
    const button = tab.getByRole("button", { name: "عرض في نافذة صغيرة" })
    const [small] = await Promise.all([tab.context().waitForEvent("page"), button.click()])
    const shown = () =>
      small.evaluate("[document.documentElement.lang, getComputedStyle(document.querySelector('h1')).direction]")
    await small.getByRole("heading", { name: "مكانك في قائمة الانتظار" }).waitFor()
    expect(await shown()).toEqual(["ar", "rtl"])
    expect(await small.title()).toBe("المساعد الصوتي")
    if (shots !== undefined) {
      await small.setViewportSize({ width: 320, height: 220 })
      await small.screenshot({ path: `${shots}/float-rtl.png` })
      await tab.emulateMedia({ colorScheme: "dark" })
      await small.emulateMedia({ colorScheme: "dark" })
      await small.screenshot({ path: `${shots}/float-rtl-dark.png` })
      await tab.emulateMedia({ colorScheme: "light" })
    }
    const own = tab.getByRole("combobox", { name: "اللغة" })
    expect(await small.getByRole("combobox").count()).toBe(0)
    await own.selectOption("de")
    await small.getByRole("heading", { name: "Ihr Platz in der Warteschlange" }).waitFor()
    expect(await shown()).toEqual(["de", "ltr"])
    hangUp()
    await small.getByRole("button", { name: "Anruf starten" }).waitFor()
    expect(await small.title()).toBe("Sprachassistent")
  })

  it("is not offered where the browser has none", async () => {
    const tab = await open("<voice-agent picture-in-picture></voice-agent>")
    await tab.evaluate("delete window.documentPictureInPicture")
    await widget.rig.hold()
    await click(tab, "Start a call")
    await place(tab, 1)
    await see(tab, /^Keep this tab open/)
    expect(await tab.getByRole("button", { name: "Keep in a small window" }).count()).toBe(0)
  })
})
