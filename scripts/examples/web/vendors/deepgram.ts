/** An agent of Deepgram: the page waits with the headless client, which gives the credential to `@deepgram/sdk`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("@deepgram/sdk") }))
