/** Vendors whose calls are a WebSocket of the page, by the vendor's SDK or by the widget where no SDK has one. */
import type { Page } from "playwright-core"
import { expect, it } from "vitest"
import { makeFakeAssemblyAI } from "../../../src/platform-api/assemblyai/fake.ts"
import { makeFakeCartesia } from "../../../src/platform-api/cartesia/fake.ts"
import { makeFakeDeepgram } from "../../../src/platform-api/deepgram/fake.ts"
import { makeFakeElevenLabs } from "../../../src/platform-api/elevenlabs/fake.ts"
import { eventually } from "../../harness/process.ts"
import { sender, state, type VendorPages } from "./pages.ts"

/** A second of a tone: PCM of 16 bits. */
const tone = (rate: number): Buffer =>
  Buffer.from(Int16Array.from({ length: rate }, (_, n) => 12_000 * Math.sin((2 * Math.PI * 440 * n) / rate)).buffer)

/** Notes in `window.played` how long the sounds are that a page plays. */
const NOTES_SOUND = `
  const { start } = AudioBufferSourceNode.prototype
  window.played = 0
  AudioBufferSourceNode.prototype.start = function (...when) {
    window.played += this.buffer.duration
    start.apply(this, when)
  }`
const played = (tab: Page): Promise<number> => tab.evaluate<number>("window.played")

export const sockets = (pages: VendorPages): void => {
  it("ElevenLabs: @elevenlabs/client opens the signed address, talks and hears, until the caller hangs up", async () => {
    const fake = makeFakeElevenLabs(Date.now)
    const joined: Array<string | undefined> = []
    const heard: Array<unknown> = []
    let closed = false
    const tab = await pages.talk("elevenlabs", fake, ({ context }) =>
      context.routeWebSocket(/^wss:\/\/api\.elevenlabs\.example\//, (socket) => {
        joined.push(fake.join({ shape: "url", platform: "elevenlabs", url: socket.url() }))
        const send = sender(socket)
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
    await pages.leave(tab)
    await eventually("the end at the vendor", () => closed)
  })

  it("Deepgram: @deepgram/sdk opens the agent with the token, in the campaign's configuration", async () => {
    const fake = makeFakeDeepgram(Date.now)
    const joined: Array<string | undefined> = []
    const settings: Array<Record<string, unknown>> = []
    let bytes = 0
    const tab = await pages.talk("deepgram", fake, async ({ context }) => {
      await context.addInitScript(NOTES_SOUND)
      await context.routeWebSocket(/^wss:\/\/agent\.deepgram\.com\/v1\/agent\/converse/, (socket) => {
        const [scheme, token = ""] = socket.protocols()
        joined.push(
          scheme === "bearer" ? fake.join({ shape: "url+token", platform: "deepgram", url: "", token }) : scheme,
        )
        const send = sender(socket)
        socket.onMessage((message) => {
          if (typeof message !== "string") {
            bytes += message.length
            return
          }
          settings.push(JSON.parse(message))
          send({ type: "SettingsApplied" })
          socket.send(tone(24_000))
          send({ type: "ConversationText", role: "assistant", content: "Good morning." })
          send({ type: "ConversationText", role: "user", content: "My order is late." })
        })
        send({ type: "Welcome", request_id: "request" })
      })
    })
    await state(tab, "in-call")
    await eventually("the agent's second of sound", async () => (await played(tab)) === 1)
    expect(joined).toEqual(["session-1"])
    expect(settings[0]).toMatchObject({
      type: "Settings",
      agent: "agent-fake",
      audio: { input: { encoding: "linear16", sample_rate: 24_000 } },
    })
    await tab.getByText("agent: Good morning.").waitFor()
    await tab.getByText("caller: My order is late.").waitFor()
    // half a second of the caller's voice
    await eventually("the caller's voice", () => bytes > 24_000)
    await pages.leave(tab)
  })

  it("AssemblyAI: the headless client opens the session with the token, which works once", async () => {
    const fake = makeFakeAssemblyAI(Date.now)
    const joined: Array<string | undefined> = []
    const heard: Array<string> = []
    const tab = await pages.talk("assemblyai", fake, async ({ context }) => {
      await context.addInitScript(NOTES_SOUND)
      await context.routeWebSocket(/^wss:\/\/agents\.assemblyai\.com\/v1\/ws/, (socket) => {
        const token = new URL(socket.url()).searchParams.get("token") ?? ""
        joined.push(fake.join({ shape: "single-use-token", platform: "assemblyai", token }))
        const send = sender(socket)
        socket.onMessage((text) => {
          const { audio, session, type }: Record<string, unknown> = JSON.parse(String(text))
          if (typeof audio === "string") heard.push(audio)
          else heard.push(`${type} ${JSON.stringify(session)}`)
          if (type !== "session.update") return
          send({ type: "session.ready", session_id: joined[0] })
          send({ type: "reply.audio", data: tone(24_000).toString("base64") })
          send({ type: "transcript.agent", text: "Good morning.", interrupted: false })
          send({ type: "transcript.user", text: "My order is late." })
        })
      })
    })
    await state(tab, "in-call")
    await eventually("the agent's second of sound", async () => (await played(tab)) === 1)
    expect([joined, heard[0]]).toEqual([["session-1"], 'session.update {"agent_id":"agent-fake"}'])
    await tab.getByText("agent: Good morning.").waitFor()
    await tab.getByText("caller: My order is late.").waitFor()
    await eventually("the caller's voice", () => heard.length > 20)
    // 20 ms of 24 kHz and 16 bits
    expect(Buffer.from(heard[5] ?? "", "base64").length).toBeCloseTo(960, -2)
    await pages.leave(tab)
    expect(heard.at(-1)).toBe("session.end undefined")
  })

  it("Cartesia: the headless client opens the agent with the token and our stream id", async () => {
    const fake = makeFakeCartesia(Date.now)
    const joined: Array<string | undefined> = []
    const heard: Array<string> = []
    const tab = await pages.talk("cartesia", fake, async ({ context }) => {
      await context.addInitScript(NOTES_SOUND)
      await context.routeWebSocket(/^wss:\/\/api\.cartesia\.ai\/agents\/stream\/agent_fake/, (socket) => {
        const { searchParams } = new URL(socket.url())
        const token = searchParams.get("access_token") ?? ""
        const send = sender(socket)
        socket.onMessage((text) => {
          const { event, media, stream_id: streamId } = JSON.parse(String(text))
          if (event === "media_input") heard.push(media.payload)
          if (event !== "start") return
          joined.push(fake.join({ shape: "url+token", platform: "cartesia", url: "", token, details: { streamId } }))
          joined.push(searchParams.get("cartesia_version") ?? undefined)
          send({ event: "ack", stream_id: streamId, config: { input_format: "pcm_44100" } })
          send({ event: "media_output", stream_id: streamId, media: { payload: tone(44_100).toString("base64") } })
        })
      })
    })
    await state(tab, "in-call")
    await eventually("the agent's second of sound", async () => (await played(tab)) === 1)
    expect(joined).toEqual(["call-1", expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/)])
    await eventually("the caller's voice", () => heard.length > 20)
    await pages.leave(tab)
    const { rawBody } = fake.hangUp("call-1") ?? { rawBody: "{}" }
    expect(JSON.parse(rawBody)).toMatchObject({ call: { id: expect.stringContaining("voicegate-") } })
  })
}
