/** An agent of AssemblyAI, which has no SDK for pages: the headless client opens the vendor's WebSocket with the credential. */
import { createVoiceAgent } from "voicegate/widget"
import { show } from "./page.ts"

show(createVoiceAgent({ gate: "/" }))
