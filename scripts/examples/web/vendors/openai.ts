/**
 * An agent of OpenAI with OpenAI's own SDK, for a page that wants its tools or guardrails: the page waits with the headless client, and
 * the SDK makes the offer, which goes through the gate. Without `sdk` the headless client makes the offer itself.
 */
import { createVoiceAgent, type VendorModule } from "voicegate/widget"
import { show } from "./page.ts"

const sdk = async (): Promise<VendorModule> => {
  const { OpenAIRealtimeWebRTC, RealtimeAgent, RealtimeSession } = await import("@openai/agents-realtime")
  return {
    connect: async ({ token = "", url = "" }, caller) => {
      const transport = new OpenAIRealtimeWebRTC({ mediaStream: caller.microphone })
      const session = new RealtimeSession(new RealtimeAgent({ name: "helper" }), { transport })
      session.on("agent_end", (_context, _agent, text) => caller.turn({ role: "agent", text }))
      transport.on("connection_change", (state) => {
        if (state === "disconnected") caller.ended("remote")
      })
      await session.connect({ apiKey: token, url })
      return {
        hangUp: () => session.close(),
        setMuted: (muted) => session.mute(muted),
        send: (text) => session.sendMessage(text),
      }
    },
  }
}

show(createVoiceAgent({ gate: "/", sdk }))
