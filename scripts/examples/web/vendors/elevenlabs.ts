/** An agent of ElevenLabs: the page waits with the headless client, which gives the credential to `@elevenlabs/client`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("@elevenlabs/client") }))
