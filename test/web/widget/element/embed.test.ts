/** The widget on another site's page: cross-origin, a strict content security policy, custom fields and texts. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { eventually } from "../../../harness/process.ts"
import { click, level, screen } from "../../visitor.ts"
import { useSite } from "../embed-rig.ts"

const page = useSite()
const { gate, policy, withoutWorkers } = page

const callFrom = async (body: string, allowed: string): Promise<Page> => {
  Object.assign(page.site.page, { body, policy: allowed })
  const tab = await page.visitor.open(page.site.origin)
  await click(tab, "Start a call")
  await screen(tab, "In call")
  await eventually("the echo's sound", async () => (await level(tab, "Agent")) > 0.3)
  return tab
}

describe("a page that embeds the widget", () => {
  it("calls across origins under a policy that allows only the gate's scripts and connections", async () => {
    await callFrom(
      `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
      policy(gate()),
    )
    expect(page.visitor.complaints).toEqual([])
  })

  for (const crossorigin of [" crossorigin", ""]) {
    it(`may use the classic script with${crossorigin === "" ? "out" : ""} crossorigin, with Trusted Types enabled`, async () => {
      // a page with strict isolation loads no script of another origin without it
      page.site.page.isolated = crossorigin !== ""
      await callFrom(
        `<voice-agent gate="${gate()}"></voice-agent><script src="${gate()}/widget.classic.js"${crossorigin}></script>`,
        policy(gate()),
      )
      expect(page.visitor.complaints).toEqual([])
    })
  }

  it("cannot deform it with styles that reach everything", async () => {
    const body = (styles: string): string =>
      `<style>${styles}</style><script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`
    // position and size of every element of the widget, relative to its panel, and how its text looks
    const look = async (styles: string): Promise<unknown> => {
      Object.assign(page.site.page, { body: body(styles), policy: "" })
      const tab = await page.visitor.open(page.site.origin)
      await screen(tab, "Talk to us")
      const found = await tab.evaluate<unknown>(`(() => {
        const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
        const { left, top } = panel.getBoundingClientRect()
        const shown = [...panel.querySelectorAll("*")].filter((element) => element.getClientRects().length > 0)
        return [panel, ...shown].map((element) => {
          const { x, y, width, height } = element.getBoundingClientRect()
          const { color, fontSize, fontStyle, letterSpacing, lineHeight, textTransform, visibility } = getComputedStyle(element)
          const styles = { color, fontSize, fontStyle, letterSpacing, lineHeight, textTransform, visibility }
          // to a hundredth of a pixel: what is scaled in an icon is rounded in another place of the page
          const [dx, dy, w, h] = [x - left, y - top, width, height].map((length) => Math.round(length * 100) / 100)
          return [element.localName, dx, dy, w, h, styles]
        })
      })()`)
      await tab.close()
      return found
    }
    const plain = await look("body { font-family: monospace }")
    const inherited =
      "body { font: italic 700 30px / 3 monospace; text-transform: uppercase; letter-spacing: 9px; word-spacing: 9px; text-indent: 20px; color: red; white-space: pre; text-align: end }"
    expect(await look(`html { font-size: 62.5% } ${inherited}`)).toEqual(plain)
    expect(await look(`html { font-size: 250% } ${inherited} * { all: unset }`)).toEqual(plain)
  })

  for (const [what, allowed] of [
    ["workers", (strict: string) => strict.replace(/; require-trusted.*/, "")],
    ["any type of script to be trusted", (strict: string) => `${strict}; worker-src blob:`],
  ] as const) {
    it(`calls on its own thread where it forbids ${what}, and says once what would be needed`, async () => {
      const tab = await callFrom(
        `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
        allowed(withoutWorkers(gate())),
      )
      await click(tab, "Hang up")
      await screen(tab, "Call ended")
      await click(tab, "Talk again")
      await screen(tab, "In call")
      expect(page.visitor.complaints).toHaveLength(1)
      expect(page.visitor.complaints[0]).toMatch(/worker|TrustedTypePolicy|TrustedScriptURL/i)
    })
  }

  it("ends a call that its policy blocks, names what is missing, and gives the slot back", async () => {
    const blocked = policy(gate()).replace(` ws://127.0.0.1:${page.rig.callLine.port}`, "")
    Object.assign(page.site.page, {
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
      policy: blocked,
    })
    const tab = await page.visitor.open(page.site.origin)
    await click(tab, "Start a call")
    await screen(tab, "The call didn’t connect")
    await eventually("the slot is free", () => page.rig.webhooks.length === 1)
    const own = page.visitor.complaints.filter((complaint) => complaint.startsWith("voicegate"))
    expect(own).toHaveLength(1)
    expect(own[0]).toContain(`add ws://127.0.0.1:${page.rig.callLine.port} to connect-src`)
    expect(await tab.locator("voice-agent .panel").textContent()).not.toMatch(/policy|connect-src/i)
  })

  it("works without the gate's scripts if it hosts the widget and allows blob:", async () => {
    const open = policy("'self' blob:").replace(/; require-trusted.*/, "")
    await callFrom(`<script type="module" src="/own.js"></script><voice-agent gate="${gate()}"></voice-agent>`, open)
    // the gate's scripts were tried first, and refused
    for (const complaint of page.visitor.complaints) expect(complaint).toMatch(/widget\/(audio|visit|screens)\.js/)
  })

  it("may use the package, whose parts are beside it", async () => {
    const parts: Array<string> = []
    page.visitor.context.on("request", (request) => {
      const { origin, pathname } = new URL(request.url())
      if (origin === page.site.origin && pathname.endsWith(".js")) parts.push(pathname)
    })
    await callFrom(
      `<script type="module" src="/package/index.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
      policy(`'self' ${gate()}`),
    )
    // besides what they share: no vendor's part, and no extra that the page has not switched on
    const loaded = parts.filter((path) => !path.includes("/shared-"))
    expect(loaded.toSorted()).toEqual(["/package/index.js", "/package/parts/screens.js", "/package/parts/visit.js"])
    expect(page.visitor.complaints).toEqual([])
    // as bundlers need it
    expect(await readFile(join(page.built.widget, "parts/shared-widget.js"), "utf8")).toMatch(
      /import\((?:\/\*.*?\*\/\s*)*"\.\/visit\.js"\)/,
    )
  })

  it("sends its fields as variables and metadata, and requires those that are mandatory", async () => {
    Object.assign(page.site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script>
        <voice-agent gate="${gate()}" client-identifier="shop-42">
          <label>Name <input name="name" required /></label>
          <label>Topic <select name="topic"><option>Returns</option></select></label>
          <input type="hidden" name="page" value="/cart" data-to="metadata" />
          <label><input type="checkbox" name="news" value="yes" /> News</label>
        </voice-agent>`,
    })
    const tab = await page.visitor.open(page.site.origin)
    await click(tab, "Start a call")
    await screen(tab, "Talk to us")
    await tab.getByLabel("Name").fill("Ada")
    const request = tab.waitForRequest((each) => each.url().endsWith("/request") && each.method() === "POST")
    // as in a form
    await tab.getByLabel("Name").press("Enter")
    expect((await request).postDataJSON()).toMatchObject({
      clientIdentifier: "shop-42",
      dynamicVariables: { name: "Ada", topic: "Returns" },
      metadata: { page: "/cart" },
    })
    expect((await request).postDataJSON().dynamicVariables).not.toHaveProperty("news")
    await screen(tab, "In call")
  })

  it("may contain two widgets of one gate, each of which keeps its own place over a reload", async () => {
    const agent = `<voice-agent gate="${gate()}"></voice-agent>`
    Object.assign(page.site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script>${agent}${agent}`,
    })
    await page.rig.hold()
    const tab = await page.visitor.open(page.site.origin)
    const widgets = tab.locator("voice-agent")
    const place = (widget: number, number: number): Promise<void> =>
      widgets
        .nth(widget)
        .locator(".place", { hasText: new RegExp(`^${number}$`) })
        .waitFor()
    for (const widget of [1, 0]) {
      await widgets.nth(widget).getByRole("button", { name: "Start a call" }).click()
      await place(widget, widget === 1 ? 1 : 2)
    }
    await tab.reload()
    await place(0, 2)
    await place(1, 1)
  })

  it("replaces all texts, also the gate's messages", async () => {
    Object.assign(page.site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script>
        <voice-agent gate="${gate()}" lang="de" strings='{"idle.begin":"Sprechen","waiting.title":"Ihr Platz",
          "waiting.ahead":{"one":"Eine Person vor Ihnen.","other":"{n} Personen vor Ihnen."},"waiting.leave":"Verlassen",
          "notice.left":"Sie haben die Schlange verlassen.","refused.region_not_allowed.title":"Hier nicht"}'></voice-agent>`,
    })
    await page.rig.hold()
    const tab = await page.visitor.open(page.site.origin)
    const other = await page.visitor.open(page.site.origin)
    await click(other, "Sprechen")
    await screen(other, "Ihr Platz")
    await click(tab, "Sprechen")
    await tab.getByText("Eine Person vor Ihnen.", { exact: true }).waitFor()
    await click(tab, "Verlassen")
    await tab.locator("voice-agent .notice", { hasText: "Sie haben die Schlange verlassen." }).waitFor()
    await tab.evaluate('document.querySelector("voice-agent").setAttribute("region", "mars")')
    await click(tab, "Sprechen")
    await screen(tab, "Hier nicht")
  })
})

describe("the widget's scripts", () => {
  const PARTS = ["./widget/extras.js", "./widget/screens.js", "./widget/vendors.js", "./widget/visit.js"]
  const file = (name: string): string => `./vendors/${name}.js`
  const WITH_SDK = ["daily", "elevenlabs", "livekit", "openai", "pipecat", "retell", "ultravox", "vapi"].map(file)
  /** Those that also carry the sound, because the vendor's SDK does not, or there is none. */
  const WITH_SOUND = ["assemblyai", "cartesia", "deepgram"].map(file)
  const CALLS = ["./calls/watch.js"]
  const VENDORS = [...WITH_SDK, ...WITH_SOUND].toSorted()

  const FILES = [
    "widget.js",
    "widget.classic.js",
    "widget/visit.js",
    "widget/screens.js?v=1",
    "widget/extras.js",
    "widget/vendors.js",
    ...[...VENDORS, ...CALLS].map((name) => name.replace(".", "widget")),
    "widget/audio.js",
  ]

  it("load 14 kB gzipped first and 22 kB when a visit begins, at most, and depend on nothing else", async () => {
    const size = async (name: string): Promise<number> => {
      const script = await readFile(join(page.built.widget, name))
      const bytes = gzipSync(script, { level: 9 }).length
      console.log(`      ${name}: ${bytes} bytes gzipped, ${script.length} as it is`)
      const imported = [...script.toString().matchAll(/(?:^|;)import\b|require\(|import\(["`'](.*?)["`']\)/g)]
      const parts = imported.map(([all, part]) => (part ?? all).replace(/\?v=[0-9a-f]{8}$/, ""))
      const later: Readonly<Record<string, ReadonlyArray<string>>> = { "vendors.js": VENDORS, "visit.js": CALLS }
      expect(parts.toSorted()).toEqual(name.startsWith("widget") ? PARTS : (later[name] ?? []))
      return bytes
    }
    for (const name of ["widget.js", "widget.classic.js"]) expect(await size(name)).toBeLessThanOrEqual(14_000)
    expect((await size("visit.js")) + (await size("screens.js"))).toBeLessThanOrEqual(22_200)
    // only where the page switches on what is in it
    expect(await size("extras.js")).toBeLessThanOrEqual(6_600)
    // only where the campaign is of another vendor, and one of the files that it loads
    expect(await size("vendors.js")).toBeLessThanOrEqual(2_150)
    // only in calls that may not be silent, or have a time limit
    expect(await size("calls/watch.js")).toBeLessThanOrEqual(1_300)
    for (const name of WITH_SDK) expect(await size(name.slice(2))).toBeLessThanOrEqual(1_050)
    for (const name of WITH_SOUND) expect(await size(name.slice(2))).toBeLessThanOrEqual(2_450)
  })

  it("are all there before a place is taken: nothing is loaded at the turn", async () => {
    const hangUp = await page.rig.hold()
    Object.assign(page.site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
    })
    const tab = await page.visitor.open(page.site.origin)
    const loaded: Array<string> = []
    tab.on("request", (request) => {
      if (request.method() === "GET") loaded.push(request.url())
    })
    await screen(tab, "Talk to us")
    expect(loaded).toEqual([])
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    expect(loaded.map((url) => new URL(url).pathname)).toEqual(expect.arrayContaining(["/widget/visit.js"]))
    loaded.length = 0
    hangUp()
    await click(tab, "Start the call")
    await screen(tab, "In call")
    expect(loaded.filter((url) => url.includes(".js"))).toEqual([])
  })

  it("are loaded again when that fails, and the visitor reads it", async () => {
    Object.assign(page.site.page, {
      policy: policy(gate()),
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
    })
    const tab = await page.visitor.open(page.site.origin)
    const cut = ["**/widget/visit.js*", "**/widget/screens.js*"]
    for (const part of cut) await tab.route(part, (route) => route.abort())
    await click(tab, "Start a call")
    await screen(tab, "No connection")
    for (const part of cut) await tab.unroute(part)
    await click(tab, "Try again")
    await screen(tab, "In call")
  })

  it("may be of another release than the widget: what one of them does not know is left out", async () => {
    Object.assign(page.site.page, {
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
    })
    const tab = await page.visitor.open(page.site.origin)
    // as `screens.js` was before it alerted the caller and knew the agent's look, and as an older widget calls it
    await tab.route(/\/widget\/screens\.js\?v=/, (route) =>
      route.fulfill({
        contentType: "text/javascript",
        headers: { "access-control-allow-origin": "*" },
        body: `import { createScreens as create } from "${gate()}/widget/screens.js"
          export const createScreens = ({ agent, alerts, availability, captions, useMicrophone, ...tools }) => {
            const { attention, ...screens } = create({ ...tools, captions: () => true })
            return screens
          }`,
      }),
    )
    const hangUp = await page.rig.hold()
    await click(tab, "Start a call")
    await screen(tab, "Your place in the queue")
    hangUp()
    await screen(tab, "Your turn")
    await click(tab, "Start the call")
    await screen(tab, "In call")
    await click(tab, "Hang up")
    await screen(tab, "Call ended")
    expect(page.visitor.complaints).toEqual([])
  })

  it("are asked for again while a gate serves ones that the widget cannot use", async () => {
    Object.assign(page.site.page, {
      body: `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}"></voice-agent>`,
    })
    const tab = await page.visitor.open(page.site.origin)
    const old = { contentType: "text/javascript", headers: { "access-control-allow-origin": "*" }, body: "export {}" }
    await tab.route("**/widget/screens.js*", (route) => route.fulfill(old), { times: 2 })
    await click(tab, "Start a call")
    await screen(tab, "No connection")
    await screen(tab, "In call")
  })

  it("are served to any page, with a strong ETag that answers 304", async () => {
    for (const file of FILES) {
      const first = await fetch(page.rig.url + file, { headers: { origin: "https://anybody.example" } })
      expect(first.status).toBe(200)
      expect(first.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
      expect(first.headers.get("content-encoding")).toBe("gzip")
      expect(first.headers.get("access-control-allow-origin")).toBe("*")
      expect(first.headers.get("cross-origin-resource-policy")).toBe("cross-origin")
      expect(first.headers.get("cache-control")).toContain("max-age=")
      expect(first.headers.get("vary")).toBe("Accept-Encoding")
      const etag = first.headers.get("etag") ?? ""
      expect(etag).toMatch(/^"[\w-]{43}"$/)
      const content = await first.text()
      expect(content).toBe(
        await readFile(join(page.built.widget, file.replace("widget/", "").replace(/\?.*/, "")), "utf8"),
      )

      const again = await fetch(page.rig.url + file, { headers: { "if-none-match": etag } })
      expect([again.status, await again.text()]).toEqual([304, ""])
      const plain = await fetch(page.rig.url + file, { headers: { "accept-encoding": "identity" } })
      expect(plain.headers.get("content-encoding")).toBeNull()
      expect(plain.headers.get("etag")).not.toBe(etag)
      expect(await plain.text()).toBe(content)
      const head = await fetch(page.rig.url + file, { method: "HEAD", headers: { "accept-encoding": "gzip;q=0" } })
      expect([head.status, head.headers.get("content-length")]).toEqual([200, String(Buffer.byteLength(content))])
    }
  })
})
