/** An agent of LiveKit: the page waits with the headless client, which gives the credential to `livekit-client`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("livekit-client") }))
