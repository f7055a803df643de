/** What keeps a page from calling and only its owner can change: neutral words for the visitor, one message for the owner. */
import { describe, expect, it } from "vitest"
import { click, screen } from "../../visitor.ts"
import { useSite } from "../embed-rig.ts"

const page = useSite()
const { gate, policy } = page

describe("what only the site's owner can change", () => {
  const widget = (attributes = ""): string =>
    `<script type="module" src="${gate()}/widget.js"></script><voice-agent gate="${gate()}" ${attributes}></voice-agent>`

  /** Tries to call: the visitor reads `title` and nothing technical, and the console names the setting, once. */
  const refused = async (title: string, setting: string | RegExp): Promise<void> => {
    const tab = await page.visitor.open(page.site.origin)
    await click(tab, "Start a call")
    await screen(tab, title)
    expect(await tab.locator("voice-agent .panel").textContent()).not.toMatch(
      /polic|origin|connect|campaign|offline|iframe/i,
    )
    await click(tab, "Try again")
    await screen(tab, title)
    const own = page.visitor.complaints.filter((complaint) => complaint.startsWith("voicegate"))
    expect(own).toEqual([expect.stringMatching(setting)])
  }

  it("is said of an origin that the gate does not know", async () => {
    await page.restart()
    Object.assign(page.site.page, { policy: policy(gate()), body: widget() })
    await refused("The agent isn’t available", `add ${page.site.origin} to its setting Security.AllowedOrigins`)
  })

  it("is not said of a gate that is only away", async () => {
    Object.assign(page.site.page, { policy: policy(gate()), body: widget() })
    const tab = await page.visitor.open(page.site.origin)
    await tab.route("**/api/session/request", (route) => route.abort(), { times: 1 })
    await click(tab, "Start a call")
    await screen(tab, "No connection")
    await click(tab, "Try again")
    await screen(tab, "In call")
    expect(page.visitor.complaints).toEqual([])
  })

  it("is said of a policy that blocks requests to the gate", async () => {
    const blocked = policy(gate()).replace(`connect-src ${gate()} ${gate().replace("http", "ws")}`, "connect-src")
    Object.assign(page.site.page, { policy: blocked, body: widget() })
    const settings = `add ${gate()} and ${gate().replace("http", "ws")} to connect-src`
    await refused("The agent isn’t available", settings)
  })

  it("is said of a policy that blocks the gate's scripts", async () => {
    Object.assign(page.site.page, {
      policy: policy("'self'").replace(/; require-trusted.*/, ""),
      body: widget().replace(`${gate()}/widget.js`, "/own.js"),
    })
    await refused("Audio isn’t available on this page", `add ${gate()} to script-src`)
  })

  it("is said of a campaign and of a region that the gate does not have", async () => {
    Object.assign(page.site.page, { policy: policy(gate()), body: widget('campaign="spring"') })
    await refused("The agent isn’t available", /no campaign "spring".*VoiceAiPlatform\.Campaigns/)
    page.visitor.complaints.length = 0
    Object.assign(page.site.page, { body: widget('region="mars"') })
    await refused("The agent isn’t available", /region "mars".*AllowedRegionIds/)
  })

  for (const [what, changes, setting] of [
    [
      "an iframe without it",
      { body: `<iframe src="/framed" allow="microphone 'none'"></iframe>` },
      'allow="microphone"',
    ],
    ["a page whose header forbids it", { permissions: "microphone=()" }, "Permissions-Policy"],
  ] as const) {
    it(`is said of the microphone in ${what}`, async () => {
      Object.assign(page.site.page, {
        policy: `${policy(gate())}; frame-src 'self'`,
        body: widget(),
        framed: widget(),
        ...changes,
      })
      const tab = await page.visitor.open(page.site.origin)
      const frame = "body" in changes ? tab.frameLocator("iframe") : tab.locator("body")
      await frame.getByRole("button", { name: "Start a call" }).click()
      await frame.getByRole("heading", { name: "Audio isn’t available on this page" }).waitFor()
      const own = page.visitor.complaints.filter((complaint) => complaint.startsWith("voicegate"))
      expect(own).toEqual([expect.stringContaining(setting)])
    })
  }
})
