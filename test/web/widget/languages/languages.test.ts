/** The widget's languages in a browser: how one is found, loaded, shown, changed during a visit, and chosen by the visitor. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { focusOn } from "../../focus.ts"
import { click, place, screen, see } from "../../visitor.ts"
import { useWidget } from "../rig.ts"

const widget = useWidget()

/** Gives a page that has the widget's script another content, and no language of its own. */
const fill = (tab: Page, html: string): Promise<void> =>
  tab.evaluate(`
    document.documentElement.removeAttribute("lang")
    document.body.innerHTML = ${JSON.stringify(html)}`)

const openPage = async (html: string): Promise<Page> => {
  const tab = await widget.open()
  await fill(tab, html)
  return tab
}

const AGENT = '<voice-agent gate="/"></voice-agent>'

/** The language and direction that the panel says it has, and where its text begins. */
const shownAs = (tab: Page): Promise<unknown> =>
  tab.evaluate(`(() => {
    const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
    return [panel.lang, panel.dir, getComputedStyle(panel).direction]
  })()`)

const setLanguage = (tab: Page, tag: string): Promise<void> =>
  tab.evaluate(`document.documentElement.lang = ${JSON.stringify(tag)}`)

describe("the language of the widget", () => {
  it("is that of its lang attribute, else of its nearest ancestor's, also from right to left", async () => {
    await widget.begin()
    const tab = await openPage(`<div lang="en"><section lang="de-AT">${AGENT}</section></div>`)
    await screen(tab, "Sprechen Sie mit uns")
    expect(await shownAs(tab)).toEqual(["de-AT", "ltr", "ltr"])
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("lang", "ar")')
    await screen(tab, "تحدّث إلينا")
    expect(await shownAs(tab)).toEqual(["ar", "rtl", "rtl"])
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("dir", "ltr")')
    await eventually("the direction of the attribute", async () => {
      const [, dir, direction] = [await shownAs(tab)].flat()
      return dir === "" && direction === "ltr"
    })
    await tab.evaluate('document.querySelector("voice-agent").removeAttribute("lang")')
    await screen(tab, "Sprechen Sie mit uns")
  })

  it("is found outside of shadow roots", async () => {
    await widget.begin()
    const tab = await openPage('<div lang="pl"><div id="host"></div></div>')
    await tab.evaluate(`
      const root = document.querySelector("#host").attachShadow({ mode: "open" })
      root.innerHTML = '${AGENT}'`)
    await screen(tab, "Porozmawiaj z nami")
    await tab.evaluate('document.querySelector("[lang]").lang = "sv"')
    await screen(tab, "Prata med oss")
  })

  it("is the browser's where the page says none, or one that there is not", async () => {
    await widget.begin({}, { locale: "fr-CA" })
    const tab = await openPage(AGENT)
    await screen(tab, "Parlez-nous")
    await setLanguage(tab, "en")
    await screen(tab, "Talk to us")
    await setLanguage(tab, "eu")
    await screen(tab, "Parlez-nous")
    expect(await shownAs(tab)).toEqual(["fr-CA", "ltr", "ltr"])
  })

  it("is English when it cannot be loaded, marked as English, and is tried again", async () => {
    await widget.begin()
    await widget.visitor.context.route("**/widget/languages/**", (route) => route.abort())
    const tab = await openPage(`<div lang="he" dir="rtl">${AGENT}</div>`)
    await screen(tab, "Talk to us")
    expect(await shownAs(tab)).toEqual(["en", "ltr", "ltr"])
    await widget.visitor.context.unroute("**/widget/languages/**")
    await tab.evaluate('document.querySelector("[lang]").lang = "he-IL"')
    await screen(tab, "דברו איתנו")
  })

  it("is waited for, so that English is not seen before it, but not for long", async () => {
    await widget.begin()
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await widget.visitor.context.route("**/widget/languages/de.json", (route) => held.then(() => route.continue()))
    // every title that a widget on a German page has shown
    await widget.visitor.context.addInitScript(`
      window.titles = []
      const attach = Element.prototype.attachShadow
      Element.prototype.attachShadow = function (options) {
        const root = attach.call(this, options)
        const note = () => this.closest("[lang=de]") && window.titles.push(root.querySelector("h2")?.textContent)
        new MutationObserver(note).observe(root, { subtree: true, childList: true })
        return root
      }`)
    const tab = await openPage(`<div lang="de">${AGENT}</div>`)
    await screen(tab, "Talk to us")
    release()
    await screen(tab, "Sprechen Sie mit uns")
    // it is in the browser's cache now
    const again = await openPage(`<div lang="de">${AGENT}</div>`)
    await screen(again, "Sprechen Sie mit uns")
    expect(await again.evaluate("window.titles.filter(Boolean)")).not.toContain("Talk to us")
  })

  it("can change while the visitor waits and talks, who keeps the place and the call", async () => {
    await widget.begin()
    const hangUp = await widget.rig.hold()
    const tab = await openPage(`<div></div>${AGENT}`)
    const requests: Array<string> = []
    tab.on("request", (request) => {
      if (request.method() === "POST") requests.push(new URL(request.url()).pathname)
    })
    const ahead = await widget.open()
    await click(ahead, "Start a call")
    await screen(ahead, "Your place in the queue")
    await click(tab, "Start a call")
    await see(tab, "One person is ahead of you.")
    await place(tab, 2)
    await setLanguage(tab, "uk")
    await see(tab, "Перед вами 1 людина.")
    await place(tab, 2)
    await setLanguage(tab, "he")
    await see(tab, "אדם אחד לפניכם.")
    await place(tab, 2)
    await click(ahead, "Leave the queue")
    await see(tab, "אתם הבאים בתור.")
    hangUp()
    await screen(tab, "תורכם הגיע")
    await click(tab, "התחלת השיחה")
    await screen(tab, "בשיחה")
    await see(tab, "Hello. I repeat what you say.")
    await setLanguage(tab, "ja")
    await screen(tab, "通話中")
    await see(tab, "Hello. I repeat what you say.")
    await click(tab, "通話を終了")
    await screen(tab, "通話終了")
    expect(requests.filter((path) => path === "/api/session/request")).toHaveLength(1)
  })

  it("says in it what the gate says in English", async () => {
    await widget.begin({ settings: { Queue: { MaxLength: 1 } } })
    await widget.rig.hold()
    const ahead = await widget.open()
    await click(ahead, "Start a call")
    await screen(ahead, "Your place in the queue")
    const tab = await openPage(`<div lang="es">${AGENT}</div>`)
    await click(tab, "Iniciar llamada")
    await screen(tab, "La cola está llena")
  })
})

describe("the choice of a language", () => {
  const CHOICE = '<voice-agent gate="/" languages="en de  xx ar"></voice-agent>'
  const select = (tab: Page) => tab.locator("voice-agent select")

  it("is absent unless the page offers one", async () => {
    await widget.begin()
    const tab = await openPage(AGENT)
    await screen(tab, "Talk to us")
    expect(await select(tab).count()).toBe(0)
  })

  it("names each language in itself, keeps the focus, and is kept for the next page", async () => {
    await widget.begin()
    const tab = await openPage(`<div lang="de">${CHOICE}</div>`)
    await screen(tab, "Sprechen Sie mit uns")
    expect(await select(tab).locator("option").allTextContents()).toEqual(["English", "Deutsch", "العربية"])
    expect(await select(tab).inputValue()).toBe("de")
    await select(tab).focus()
    await select(tab).selectOption("ar")
    await screen(tab, "تحدّث إلينا")
    await focusOn(tab, "اللغة")
    expect(await shownAs(tab)).toEqual(["ar", "rtl", "rtl"])
    await tab.reload()
    await fill(tab, `<div lang="de">${CHOICE}</div>`)
    await screen(tab, "تحدّث إلينا")
    expect(await select(tab).inputValue()).toBe("ar")
    // a page that does not offer it shows its own
    const other = await openPage('<div lang="de"><voice-agent gate="/" languages="en de"></voice-agent></div>')
    await screen(other, "Sprechen Sie mit uns")
  })
})

describe("the files of the languages", () => {
  it("are served compressed to any page, with an ETag that answers 304", async () => {
    await widget.begin()
    const built = join(fileURLToPath(new URL("../../../..", import.meta.url)), "dist/web/widget/languages")
    for (const name of ["de", "zh-Hans"]) {
      const url = `${widget.rig.url}widget/languages/${name}.json`
      const first = await fetch(url, { headers: { origin: "https://anybody.example" } })
      expect(first.status).toBe(200)
      expect(first.headers.get("content-type")).toBe("application/json")
      expect(first.headers.get("content-encoding")).toBe("gzip")
      expect(first.headers.get("access-control-allow-origin")).toBe("*")
      expect(first.headers.get("cache-control")).toContain("max-age=")
      expect(await first.text()).toBe(await readFile(join(built, `${name}.json`), "utf8"))
      const again = await fetch(url, { headers: { "if-none-match": first.headers.get("etag") ?? "" } })
      expect([again.status, await again.text()]).toEqual([304, ""])
    }
    expect((await fetch(`${widget.rig.url}widget/languages/xx.json`)).status).toBe(404)
  })
})
