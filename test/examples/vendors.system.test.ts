/**
 * The examples for vendors, with each vendor's own SDK from npm as Vite bundles it, in a browser: the SDK connects to that vendor's fake
 * with the credential of the gate. LiveKit's server is on loopback. The hosts of the others are in their SDKs or credentials, so the
 * browser's requests to them are answered by the test.
 */
import { once } from "node:events"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { build } from "vite"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { WebSocketServer } from "ws"
import { eventually } from "../../scripts/harness/process.ts"
import { makeFakeElevenLabs } from "../../src/testing/vendors/FakeElevenLabs.ts"
import { makeFakeLiveKit } from "../../src/testing/vendors/FakeLiveKit.ts"
import { makeFakeRetell } from "../../src/testing/vendors/FakeRetell.ts"
import { makeFakeUltravox } from "../../src/testing/vendors/FakeUltravox.ts"
import { makeFakeVapi } from "../../src/testing/vendors/FakeVapi.ts"
import type { FakeVendor } from "../../src/testing/vendors/fake-vendor.ts"
import { launchBrowser } from "../support/browser.ts"
import { type Built, whenWebBuilt } from "../web/rig.ts"
import { startVendorRig, type VendorRig } from "../web/vendors/rig.ts"
import { click, type Visitor, visit } from "../web/visitor.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const examples = join(root, "scripts/examples/web/vendors")

let built: Built
let browser: Browser
let work = ""
let rig: VendorRig
let visitor: Visitor

beforeAll(async () => {
  ;[built, browser] = await Promise.all([whenWebBuilt(), launchBrowser()])
  work = await mkdtemp(join(tmpdir(), "voicegate-vendors-"))
  const pages = (await readdir(examples)).filter((name) => name.endsWith(".html"))
  await build({
    configFile: false,
    root: examples,
    base: "./",
    logLevel: "error",
    resolve: { alias: { "voicegate/widget": join(root, "dist/web/widget/index.js") } },
    build: {
      outDir: work,
      target: "es2022",
      modulePreload: false,
      minify: false,
      rolldownOptions: { input: pages.map((name) => join(examples, name)) },
    },
  })
})
afterAll(async () => {
  await browser?.close()
  await rm(work, { recursive: true, force: true })
})
afterEach(async () => {
  await visitor.context.close()
  await rig.stop()
})

/** The example of a vendor, as its page begins a call. `prepare` answers in the vendor's place. */
const talk = async (
  name: string,
  fake: FakeVendor,
  prepare: (visitor: Visitor) => Promise<unknown>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Page> => {
  rig = await startVendorRig(built, fake, settings)
  for (const file of await readdir(join(work, "assets")))
    rig.files[`/assets/${file}`] = await readFile(join(work, "assets", file))
  rig.files["/"] = await readFile(join(work, `${name}.html`), "utf8")
  visitor = await visit(browser, { permissions: ["microphone"] })
  await prepare(visitor)
  const tab = await visitor.open(rig.site)
  await click(tab, "Talk")
  return tab
}

const state = (tab: Page, name: string): Promise<void> => tab.locator("#state", { hasText: name }).waitFor()
const given = (): boolean => rig.asked.includes("DELETE /api/session/:id")

describe("the example of", () => {
  it("LiveKit: livekit-client signals to the server with the gate's token, and a refusal gives the slot back", async () => {
    const fake = makeFakeLiveKit(Date.now)
    const joined: Array<string | undefined> = []
    const server = new WebSocketServer({
      host: "127.0.0.1",
      port: 0,
      verifyClient: ({ req }, decide) => {
        const { pathname, searchParams } = new URL(req.url ?? "", "http://loopback")
        const token = searchParams.get("access_token") ?? ""
        if (/^\/rtc(\/v1)?$/.test(pathname))
          joined.push(fake.join({ shape: "url+token", platform: "livekit", url: "", token }))
        decide(false, 503)
      },
    })
    await once(server, "listening")
    const address = server.address()
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
    const livekit = {
      Url: `ws://127.0.0.1:${address.port}`,
      ApiKey: "APIfakeLiveKit",
      ApiSecret: "secret-of-the-fake-livekit-server",
    }
    try {
      const tab = await talk("livekit", fake, async () => {}, { LiveKit: livekit })
      await eventually("the signalling", () => joined.length > 0)
      expect(joined[0]).toMatch(/^voicegate-/)
      await state(tab, "ended")
      await eventually("the report to the gate", given)
    } finally {
      server.close()
    }
  })

  it("Retell: retell-client-js-sdk signals with the call's access token", async () => {
    const fake = makeFakeRetell(Date.now)
    const joined: Array<string | undefined> = []
    const tab = await talk("retell", fake, ({ context }) =>
      context.routeWebSocket(/^wss:\/\/retell-ai-\w+\.livekit\.cloud\/rtc/, (socket) => {
        const token = new URL(socket.url()).searchParams.get("access_token") ?? ""
        joined.push(fake.join({ shape: "token", platform: "retell", token }))
        void socket.close({ code: 4001, reason: "refused" })
      }),
    )
    await eventually("the signalling", () => joined.length > 0)
    expect(joined[0]).toBe("call_1")
    await state(tab, "ended")
    await eventually("the report to the gate", given)
  })

  it("Vapi: @vapi-ai/web joins the call's room", async () => {
    const fake = makeFakeVapi(Date.now)
    // Daily's own program, which its SDK loads; this one only takes the message that joins
    const program = `window.addEventListener("message", ({ data }) => {
      if (data?.action === "join-meeting") window.room = data.properties.url
    })
    for (const callClientId of window._daily.pendings)
      window.postMessage({ what: "iframe-call-message", from: "embedded", action: "loaded", callClientId }, "*")`
    const tab = await talk("vapi", fake, ({ context }) =>
      context.route("https://c.daily.co/**", (route) =>
        route.fulfill({
          contentType: "text/javascript",
          headers: { "access-control-allow-origin": "*" },
          body: program,
        }),
      ),
    )
    await tab.waitForFunction("window.room")
    const url = await tab.evaluate<string>("window.room")
    expect(fake.join({ shape: "url", platform: "vapi", url })).toBe("call-1")
    await click(tab, "Leave")
    await state(tab, "ended")
    await eventually("the report to the gate", given)
  })

  it("ElevenLabs: @elevenlabs/client opens the signed address, talks and hears, until the caller hangs up", async () => {
    const fake = makeFakeElevenLabs(Date.now)
    const joined: Array<string | undefined> = []
    const heard: Array<unknown> = []
    let closed = false
    const tab = await talk("elevenlabs", fake, ({ context }) =>
      context.routeWebSocket(/^wss:\/\/api\.elevenlabs\.example\//, (socket) => {
        joined.push(fake.join({ shape: "url", platform: "elevenlabs", url: socket.url() }))
        const send = (message: object): void => socket.send(JSON.stringify(message))
        socket.onMessage((text) => {
          const message: Record<string, unknown> = JSON.parse(String(text))
          if (message.type !== "conversation_initiation_client_data") {
            heard.push(message.user_audio_chunk)
            return
          }
          send({
            type: "conversation_initiation_metadata",
            conversation_initiation_metadata_event: {
              conversation_id: joined[0],
              agent_output_audio_format: "pcm_16000",
              user_input_audio_format: "pcm_16000",
            },
          })
          send({ type: "agent_response", agent_response_event: { agent_response: "Good morning.", event_id: 1 } })
          send({
            type: "user_transcript",
            user_transcription_event: { user_transcript: "My order is late.", event_id: 2 },
          })
        })
        socket.onClose(() => {
          closed = true
        })
      }),
    )
    await state(tab, "in-call")
    expect(joined).toEqual(["conv_1"])
    await tab.getByText("agent: Good morning.").waitFor()
    await tab.getByText("caller: My order is late.").waitFor()
    await eventually("the caller's voice", () => heard.filter((chunk) => typeof chunk === "string").length > 3)
    await click(tab, "Leave")
    await state(tab, "ended")
    await eventually("the end at the vendor", () => closed)
    await eventually("the report to the gate", given)
  })

  it("Ultravox: ultravox-client opens the call's address, and then the room that it names", async () => {
    const fake = makeFakeUltravox(Date.now)
    const joined: Array<string | undefined> = []
    const rooms: Array<string | null> = []
    const tab = await talk("ultravox", fake, async ({ context }) => {
      await context.routeWebSocket(/^wss:\/\/ultravox\.example\//, (socket) => {
        joined.push(fake.join({ shape: "url", platform: "ultravox", url: socket.url() }))
        socket.send(
          JSON.stringify({ type: "room_info", roomUrl: "wss://room.ultravox.example", token: "token-of-the-room" }),
        )
      })
      await context.routeWebSocket(/^wss:\/\/room\.ultravox\.example\/rtc/, (socket) => {
        rooms.push(new URL(socket.url()).searchParams.get("access_token"))
      })
    })
    await eventually("the room", () => rooms.length > 0)
    expect([joined, rooms[0]]).toEqual([["call-1"], "token-of-the-room"])
    await click(tab, "Leave")
    await state(tab, "ended")
    await eventually("the report to the gate", given)
  })
})
