/** `<voice-agent>` in front of a gate whose campaign is of another vendor, in a real browser. The vendors' SDKs are doubles. */
import type { Browser, Page } from "playwright-core"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { makeFakeCartesia } from "../../../src/platform-api/cartesia/fake.ts"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { makeFakeGeneric } from "../../../src/platform-api/generic/fake.ts"
import { makeFakeLiveKit } from "../../../src/platform-api/livekit/fake.ts"
import { makeFakeRetell } from "../../../src/platform-api/retell/fake.ts"
import { makeFakeUltravox } from "../../../src/platform-api/ultravox/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import type { FakeVendor } from "../../../src/testing/FakeVendor.ts"
import { eventually } from "../../harness/process.ts"
import { sharedBrowser } from "../../support/browser.ts"
import { type Built, whenWebBuilt } from "../rig.ts"
import { click, level, screen, see, type Visitor, visit } from "../visitor.ts"
import { DOUBLES } from "./doubles.ts"
import { startVendorRig, type VendorRig } from "./rig.ts"

interface Subject {
  readonly make: (now: () => number) => FakeVendor
  /** what the SDK gets, as the double notes it */
  readonly connects: RegExp
  /** The agent takes text. */
  readonly text: boolean
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  livekit: { make: makeFakeLiveKit, connects: /^connects wss:\/\/livekit\.example eyJ/, text: true },
  retell: { make: makeFakeRetell, connects: /^connects bearer-of-call_1 call_1 gateway 1$/, text: false },
  vapi: { make: makeFakeVapi, connects: /^connects https:\/\/vapi\.daily\.example\/bearer-of-call-1$/, text: true },
  elevenlabs: {
    make: makeFakeElevenLabs,
    connects: /^connects wss:\/\/api\.elevenlabs\.example\/.*bearer-of-conv_1 \{"name":"Ada"\}$/,
    text: true,
  },
  ultravox: {
    make: makeFakeUltravox,
    connects: /^connects wss:\/\/ultravox\.example\/.*bearer-of-call-1$/,
    text: true,
  },
  generic: {
    make: makeFakeGeneric,
    connects: /^connects generic wss:\/\/vendor\.example\/join bearer-of-session-1$/,
    text: true,
  },
}

let built: Built
let browser: Browser
let rig: VendorRig
let visitor: Visitor
let fake: FakeVendor

beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
})
afterEach(async () => {
  await visitor.context.close()
  await rig.stop()
})

/** A page with the widget; `attributes` as the page writes them. */
const open = async (
  make: Subject["make"],
  attributes: string,
  {
    policy = "",
    script = "",
    settings = {},
  }: {
    readonly policy?: string
    readonly script?: string
    readonly settings?: Readonly<Record<string, unknown>>
  } = {},
): Promise<Page> => {
  fake = make(Date.now)
  rig = await startVendorRig(built, fake, settings)
  visitor = await visit(browser)
  for (const [platform, double] of Object.entries(DOUBLES)) rig.files[`/${platform}.js`] = double
  rig.files["/"] = `<!doctype html><html lang="en"><meta charset="utf-8">${policy}<title>Shop</title>
    <script type="module" src="${rig.url}widget.js"></script>
    <voice-agent gate="${rig.url}" ${attributes}><input type="hidden" name="name" value="Ada"></voice-agent>
    <script type="module" src="/page.js"></script></html>`
  rig.files["/page.js"] = script
  return visitor.open(rig.site)
}

const done = (tab: Page): Promise<ReadonlyArray<string>> => tab.evaluate("window.done ?? []")
const agent = (tab: Page, does: string): Promise<unknown> => tab.evaluate(`window.agent.${does}`)
const leaves = (): number => rig.asked.filter((each) => each === "DELETE /api/session/:id").length

describe("a caller whom ElevenLabs holds in its own queue", () => {
  for (const script of ["", 'window.holds = "first"']) {
    const when = script === "" ? "after the call is connected" : "before it"
    it(`is shown as held, not as in call, when it is told ${when}, and is in call once admitted`, async () => {
      const tab = await open(makeFakeElevenLabs, 'sdk="/elevenlabs.js"', { script })
      await click(tab, "Start a call")
      if (script === "") {
        await screen(tab, "In call")
        await agent(tab, 'queues("waiting")')
      }
      await screen(tab, "The agent is busy. Please hold.")
      expect(await tab.getByText("In call").count()).toBe(0)
      await agent(tab, 'queues("admitted")')
      await screen(tab, "In call")
      await see(tab, "0:00")
      expect(await tab.getByRole("textbox").count()).toBe(1)
      await click(tab, "Hang up")
      await eventually("the report to the gate", () => leaves() === 1)
    })
  }

  it("may leave, which ends the call and frees the slot", async () => {
    const tab = await open(makeFakeElevenLabs, 'sdk="/elevenlabs.js"', { script: 'window.holds = "first"' })
    await click(tab, "Start a call")
    await screen(tab, "The agent is busy. Please hold.")
    await click(tab, "Cancel")
    await eventually("the report to the gate", () => leaves() === 1)
    expect(await done(tab)).toContain("hangs up")
  })

  it("a caller whom ElevenLabs holds in its own queue and lets go is told that the call did not connect, and the slot is freed", async () => {
    const tab = await open(makeFakeElevenLabs, 'sdk="/elevenlabs.js"', { script: 'window.holds = "first"' })
    await click(tab, "Start a call")
    await screen(tab, "The agent is busy. Please hold.")
    await agent(tab, 'queues("timed_out")')
    await screen(tab, "The call didn’t connect")
    await eventually("the report to the gate", () => leaves() === 1)
  })
})

describe("a page whose policy blocks the worklets of the vendor's SDK", () => {
  it("takes no slot, and its owner reads what to allow", async () => {
    const policy = '<meta http-equiv="Content-Security-Policy" content="script-src * \'unsafe-inline\'">'
    const tab = await open(makeFakeElevenLabs, 'sdk="/elevenlabs.js"', { policy })
    await click(tab, "Start a call")
    await see(tab, "Please try again later.")
    expect(rig.asked).toEqual([])
    expect(visitor.complaints.join()).toContain("blocks the worklets of @elevenlabs/client: add blob: to script-src")
  })
})

describe("the widget in front of another vendor", () => {
  for (const [platform, { connects, make, text }] of Object.entries(SUBJECTS)) {
    it(`calls by the SDK of ${platform}: levels, text, mute, and the end`, async () => {
      const tab = await open(make, `sdk="/${platform}.js"`)
      await click(tab, "Start a call")
      await screen(tab, "In call")
      expect((await done(tab)).find((each) => each.startsWith("connects"))).toMatch(connects)

      await agent(tab, 'says("Good morning.")')
      await see(tab, "Good morning.")
      await agent(tab, 'hears("My order is late.")')
      await see(tab, "My order is late.")
      await eventually("the caller's level", async () => (await level(tab, "You")) > 0.2)
      await eventually("the agent's level", async () => (await level(tab, "Agent")) > 0.2)
      expect(await tab.getByRole("textbox").count()).toBe(text ? 1 : 0)
      if (text) {
        await tab.getByRole("textbox").fill("Four shirts")
        await tab.keyboard.press("Enter")
        expect((await done(tab)).at(-1)).toMatch(/^sends .*Four shirts$/)
      }
      await click(tab, "Mute")
      expect((await done(tab)).at(-1)).toBe("mutes")
      await click(tab, "Unmute")
      expect((await done(tab)).at(-1)).toBe("unmutes")

      await click(tab, "Hang up")
      await screen(tab, "Call ended")
      expect((await done(tab)).filter((each) => each.startsWith("hangs up"))).toHaveLength(1)
      await eventually("the report to the gate", () => leaves() === 1)
      expect(visitor.complaints).toEqual([])
    })

    it(`ends when the agent of ${platform} hangs up, and says so to the gate`, async () => {
      const tab = await open(make, `sdk="/${platform}.js"`)
      await click(tab, "Start a call")
      await screen(tab, "In call")
      await agent(tab, "hangsUp()")
      await screen(tab, "Call ended")
      await eventually("the report to the gate", () => leaves() === 1)
      expect(visitor.complaints).toEqual([])
    })
  }

  it("waits in the queue, and gives the credential to the SDK at the turn", async () => {
    const tab = await open(makeFakeVapi, 'sdk="/vapi.js"')
    await click(tab, "Start a call")
    await screen(tab, "In call")
    const other = await visitor.open(rig.site)
    await click(other, "Start a call")
    await screen(other, "Your place in the queue")
    expect(await done(other)).toEqual([])
    await click(tab, "Hang up")
    await click(other, "Start the call")
    await screen(other, "In call")
    expect(await done(other)).toContain("connects https://vapi.daily.example/bearer-of-call-2")
    // the first call's slot came free because the page reported its end
    expect([fake.isRunning("call-1"), fake.isRunning("call-2")]).toEqual([false, true])
  })

  it("shows a line that is down, until it is up again", async () => {
    const tab = await open(makeFakeLiveKit, 'sdk="/livekit.js"')
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await agent(tab, "link(false)")
    await tab.locator("voice-agent[state=in-call]").waitFor()
    const state = (): Promise<unknown> => tab.evaluate('document.querySelector("voice-agent").agent.state.link')
    expect(await state()).toBe(false)
    // the gate answers this page, so it is not the visitor's connection
    await see(tab, /^Reconnecting… The agent isn’t answering/)
    await agent(tab, "link(true)")
    expect(await state()).toBe(true)
    await tab.locator("voice-agent .notice.warning").waitFor({ state: "hidden" })
    await tab.context().setOffline(true)
    await agent(tab, "link(false)")
    await see(tab, /^Reconnecting… Your connection is down/)
    await tab.context().setOffline(false)
  })

  it("takes a function that imports the SDK, also one of the page's own for a vendor that the widget knows", async () => {
    const script = `
      const { connect } = await import("/generic.js")
      document.querySelector("voice-agent").sdk = async () => ({ connect })`
    const tab = await open(makeFakeLiveKit, "", { script })
    await click(tab, "Start a call")
    await screen(tab, "In call")
    expect((await done(tab))[0]).toMatch(/^connects livekit wss:\/\/livekit\.example eyJ/)
  })

  it("ends as not connected when the vendor does not let the caller in, and gives the slot back", async () => {
    const script = `document.querySelector("voice-agent").sdk = async () =>
      ({ connect: async () => { throw new Error("the room is full") } })`
    const tab = await open(makeFakeVapi, "", { script })
    await click(tab, "Start a call")
    await screen(tab, "The call didn’t connect")
    await eventually("the report to the gate", () => leaves() === 1)
    await eventually("the end at the vendor", () => !fake.isRunning("call-1"))
  })

  it("tells the module of a page that a call is given up while it connects, and gives the slot back", async () => {
    const script = `document.querySelector("voice-agent").sdk = async () => ({
      connect: (_credential, { signal }) => new Promise(() => signal.addEventListener("abort", () => { window.aborted = true })),
    })`
    const tab = await open(makeFakeGeneric, "", { script })
    await click(tab, "Start a call")
    await screen(tab, "Connecting your call")
    await eventually("the start", () => rig.asked.includes("POST /api/session/request"))
    await click(tab, "Cancel")
    await eventually("the module is told", () => tab.evaluate("window.aborted === true"))
    await eventually("the report to the gate", () => leaves() === 1)
  })

  it("closes the connection to a vendor that does not answer on it, when the call is given up", async () => {
    const tab = await open(makeFakeCartesia, "")
    const sockets = { opened: 0, closed: 0 }
    await tab.routeWebSocket(/^wss:/, (socket) => {
      sockets.opened++
      socket.onClose(() => {
        sockets.closed++
      })
    })
    await tab.reload()
    await tab.reload()
    await click(tab, "Start a call")
    await eventually("the connection", () => sockets.opened === 1)
    await click(tab, "Cancel")
    await eventually("its end", () => sockets.closed === 1)
    await eventually("the report to the gate", () => leaves() === 1)
  })

  it("reports the end with the page that is left", async () => {
    const tab = await open(makeFakeVapi, 'sdk="/vapi.js"')
    await click(tab, "Start a call")
    await screen(tab, "In call")
    await tab.close({ runBeforeUnload: true })
    await eventually("the beacon", () => rig.asked.includes("POST /api/session/:id/leave"))
    await eventually("the end at the vendor", () => !fake.isRunning("call-1"))
  })
})

describe("a page without the vendor's SDK", () => {
  it("shows neutral words, tells its owner once what to do, and gives the slot back", async () => {
    const tab = await open(makeFakeVapi, "")
    await click(tab, "Start a call")
    await see(tab, "Please try again later.")
    await eventually("the report to the gate", () => leaves() === 1)
    await eventually("the end at the vendor", () => !fake.isRunning("call-1"))
    expect(visitor.complaints).toEqual([
      'voicegate: calls of the platform "vapi" need @vapi-ai/web on this page: name it with the attribute or property sdk of the <voice-agent>',
    ])
  })

  it("tells the owner of another SDK than the campaign's which one is needed", async () => {
    const tab = await open(makeFakeLiveKit, 'sdk="/retell.js"')
    await click(tab, "Start a call")
    await see(tab, "Please try again later.")
    expect(visitor.complaints).toEqual([expect.stringContaining("need livekit-client on this page")])
  })

  it("takes no slot where the SDK cannot be loaded", async () => {
    const tab = await open(makeFakeVapi, 'sdk="/nowhere.js"')
    await click(tab, "Start a call")
    await see(tab, "Please try again later.")
    expect(visitor.complaints).toEqual([
      expect.stringMatching(
        /^voicegate: the vendor's SDK cannot be loaded from \/nowhere\.js: .*attribute or property sdk$/,
      ),
    ])
    expect([rig.asked, fake.requests.filter(({ method }) => method === "POST")]).toEqual([[], []])
  })
})
