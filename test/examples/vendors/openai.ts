/** OpenAI's own SDK makes the offer, which goes through the gate; another page of the browser answers it in OpenAI's place. */
import { expect, it } from "vitest"
import { makeFakeOpenAI } from "../../../src/platform-api/openai/fake.ts"
import { eventually } from "../../harness/process.ts"
import { type AnsweringPage, openAnsweringPage } from "../../web/vendors/answering-page.ts"
import { state, type VendorPages } from "./pages.ts"

export const openai = (pages: VendorPages): void => {
  it("OpenAI: @openai/agents-realtime makes its offer through the gate, which hangs the call up when the caller leaves", async () => {
    const fake = makeFakeOpenAI(Date.now)
    let agent: AnsweringPage | undefined
    /** The fake's answer, with a description that a browser accepts. */
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init)
      const offer = request.url.endsWith("/realtime/calls") ? (await request.clone().formData()).get("sdp") : null
      const answered = await fake.fetch(request)
      if (offer === null || !answered.ok) return answered
      const { headers, status } = answered
      return new Response(await agent?.answer(String(offer)), { status, headers })
    }
    const tab = await pages.talk("openai", { ...fake, fetch }, async (visitor, rig) => {
      agent = await openAnsweringPage(rig, visitor)
    })
    await state(tab, "in-call")
    expect(fake.isRunning("rtc_1")).toBe(true)
    await eventually("the SDK's settings", async () => (await agent?.received())?.includes("session.update") === true)
    await pages.leave(tab)
    await eventually("the end at the vendor", () => !fake.isRunning("rtc_1"))
  })
}
