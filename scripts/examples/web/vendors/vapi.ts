/** An agent of Vapi: the page waits with the headless client, which gives the credential to `@vapi-ai/web`. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/", sdk: () => import("@vapi-ai/web") }))
