/** An agent of Pipecat Cloud: the page waits with the headless client, which gives the credential to Pipecat's client and its transport. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

const sdk = async () => ({
  ...(await import("@pipecat-ai/client-js")),
  ...(await import("@pipecat-ai/daily-transport")),
})

show(createVoiceAgent({ gate: "/", sdk }))
