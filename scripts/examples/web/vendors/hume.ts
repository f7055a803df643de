/** An agent of Hume: the page waits with the headless client, which gives the credential to `hume`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("hume") }))
