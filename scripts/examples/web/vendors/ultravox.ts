/** An agent of Ultravox: the page waits with the headless client, which gives the credential to `ultravox-client`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("ultravox-client") }))
