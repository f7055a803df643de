/**
 * Vendors whose SDK joins a room of Daily. Daily's SDK loads the program that makes the call from Daily's host; in its place is a short
 * one, which takes the room and its token and sends no sound.
 */
import type { Page } from "playwright-core"
import { expect, it } from "vitest"
import { makeFakeDaily } from "../../../src/platform-api/daily/fake.ts"
import { makeFakePipecat } from "../../../src/platform-api/pipecat/fake.ts"
import { makeFakeVapi } from "../../../src/platform-api/vapi/fake.ts"
import { eventually } from "../../harness/process.ts"
import type { Visitor } from "../../web/visitor.ts"
import { microphones, NOTES_MICROPHONES, state, type VendorPages } from "./pages.ts"

/** Answers each message of the SDK, and notes its action in `window.actions` and the room that it joins in `window.room`. */
const PROGRAM = `
  const answer = (callClientId, message) =>
    window.postMessage({ what: "iframe-call-message", from: "embedded", callClientId, ...message }, "*")
  window.addEventListener("message", ({ data }) => {
    if (data?.from !== "module") return
    const { action, callClientId, callbackStamp } = data
    ;(window.actions ??= []).push(action)
    if (callbackStamp) answer(callClientId, { action: "answer", callbackStamp })
    if (action === "join-meeting") {
      const { token, url, userData } = data.properties
      window.room = { token, url, userData }
      if (window.lets) answer(callClientId, { action: "joined-meeting", participants: {} })
    }
    if (action === "leave-meeting") answer(callClientId, { action: "left-meeting" })
  })
  for (const callClientId of window._daily.pendings) answer(callClientId, { action: "loaded" })`

/** @param lets whether the program lets the page into the room */
const program =
  (lets: boolean) =>
  ({ context }: Visitor): Promise<unknown> =>
    Promise.all([
      context.addInitScript(`window.lets = ${lets}`),
      context.route("https://c.daily.co/**", (route) =>
        route.fulfill({
          contentType: "text/javascript",
          headers: { "access-control-allow-origin": "*" },
          body: PROGRAM,
        }),
      ),
    ])

interface Joined {
  readonly url: string
  readonly token?: string
  readonly userData?: unknown
}

const roomOf = async (tab: Page): Promise<Joined> => {
  await tab.waitForFunction("window.room")
  return tab.evaluate<Joined>("window.room")
}

export const daily = (pages: VendorPages): void => {
  it("Vapi: @vapi-ai/web joins the call's room", async () => {
    const fake = makeFakeVapi(Date.now)
    const tab = await pages.talk("vapi", fake, program(false))
    const { url } = await roomOf(tab)
    expect(fake.join({ shape: "url", platform: "vapi", url })).toBe("call-1")
    await pages.leave(tab)
  })

  it("Daily: @daily-co/daily-js joins the room with its token, and leaves it", async () => {
    const fake = makeFakeDaily(Date.now)
    const tab = await pages.talk("daily", fake, program(true))
    const { token = "", url } = await roomOf(tab)
    expect(url).toMatch(/^https:\/\/fake\.daily\.example\/voicegate-/)
    expect(fake.join({ shape: "url+token", platform: "daily", url, token })).toMatch(/-agent-fake$/)
    await state(tab, "in-call")
    await pages.leave(tab)
  })

  it("Pipecat Cloud: @pipecat-ai/client-js joins the session's room with its token by @pipecat-ai/daily-transport", async () => {
    const fake = makeFakePipecat(Date.now)
    const tab = await pages.talk("pipecat", fake, program(true))
    const { token = "", url } = await roomOf(tab)
    expect(url).toBe("https://cloud.daily.example/session-1")
    expect(fake.join({ shape: "url+token", platform: "pipecat", url, token })).toBe("session-1")
    await pages.leave(tab)
  })

  it("Pipecat Cloud: a call that is given up while it connects leaves the room, and closes the microphone", async () => {
    const fake = makeFakePipecat(Date.now)
    const tab = await pages.talk("pipecat", fake, async (visitor) => {
      await visitor.context.addInitScript(NOTES_MICROPHONES)
      await program(false)(visitor)
    })
    await roomOf(tab)
    await pages.leave(tab)
    await tab.waitForFunction('window.actions.includes("leave-meeting")')
    await eventually("the end of the recording", async () => (await microphones(tab)) === 0)
  })
}
